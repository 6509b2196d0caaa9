"""The queues: names, dead letters, times, and all that AWS delivers for us and may fail to deliver."""

import json
from collections.abc import Iterator
from typing import Any

from onthedot.core import schema
from onthedot.core.pools import pools_from_text
from onthedot.core.slots import queue_key, queue_urls
from onthedot.engines.aws.sqs import dead_letters, ticks
from tests.infra.kit import Assembly, short

TICK = ticks.QUEUE
RECEIVES = {
    **dict.fromkeys(("default-high", "default-medium", "default-low", "long"), 20),
    **dict.fromkeys(("pull-high", "pull-medium", "pull-low"), 1000),
    TICK: 5,
}
"""Each queue, and how often one of its messages may be received."""
RUN_QUEUES = [key for key in RECEIVES if key != TICK]
DLQS = [*(f"{key}-dlq" for key in RECEIVES), "schedule-dlq", dead_letters.QUEUE, "publisher-dlq", "statistics-dlq"]
FOURTEEN_DAYS = 14 * 24 * 3600
HOURS = 3600
DELIVERIES = {
    "tick": (120, 2, "ScheduleDlqQueue"),
    "PlannerFunction": (120, 1, "ScheduleDlqQueue"),
    "audit": (1 * HOURS, 2, "ScheduleDlqQueue"),
    "AuditorFunction": (1 * HOURS, 1, "ScheduleDlqQueue"),
    "events-in": (6 * HOURS, 2, "EventsDlqQueue"),
    "uploads": (6 * HOURS, 2, "EventsDlqQueue"),
    "EventsFunction": (6 * HOURS, 2, "EventsDlqQueue"),
    "stream of PublisherFunction": (12 * HOURS, 100, "PublisherDlqQueue"),
    "stream of StatisticsFunction": (12 * HOURS, 100, "StatisticsDlqQueue"),
}
"""Seconds and repetitions after which AWS gives a delivery up, and where it is put then."""


def queue(assembly: Assembly, key: str) -> dict[str, Any]:
    return assembly.named("AWS::SQS::Queue", "QueueName", key)


def test_each_queue_has_a_dead_letter_queue_of_its_own(prod: Assembly) -> None:
    by_id = {logical_id: made["Properties"] for logical_id, made in prod.of_type("AWS::SQS::Queue").items()}
    name = prod.config.name
    assert {made["QueueName"] for made in by_id.values()} == {name(key) for key in [*RECEIVES, *DLQS]}
    for key, receives in RECEIVES.items():
        redrive = queue(prod, key)["RedrivePolicy"]
        dead = by_id[redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]]
        assert (dead["QueueName"], redrive["maxReceiveCount"]) == (name(f"{key}-dlq"), receives)


def deliveries(assembly: Assembly) -> Iterator[tuple[str, tuple[int, int, str]]]:
    def given_up(limits: dict[str, Any], age: str, queue: Any) -> tuple[int, int, str]:
        return limits[age], limits["MaximumRetryAttempts"], short(queue)

    targets = [(one["Name"], one["Target"]) for one in assembly.properties("AWS::Scheduler::Schedule")]
    targets += [(one["Name"], target) for one in assembly.properties("AWS::Events::Rule") for target in one["Targets"]]
    for name, target in targets:
        limits, dead_letters = target["RetryPolicy"], target["DeadLetterConfig"]["Arn"]
        yield name.removeprefix(assembly.config.name("")), given_up(limits, "MaximumEventAgeInSeconds", dead_letters)
    for one in assembly.properties("AWS::Lambda::EventInvokeConfig"):
        dead_letters = one["DestinationConfig"]["OnFailure"]["Destination"]
        yield short(one["FunctionName"]), given_up(one, "MaximumEventAgeInSeconds", dead_letters)
    for one in assembly.properties("AWS::Lambda::EventSourceMapping"):
        if "StartingPosition" in one:
            dead_letters = one["DestinationConfig"]["OnFailure"]["Destination"]
            limits = given_up(one, "MaximumRecordAgeInSeconds", dead_letters)
            yield f"stream of {short(one['FunctionName'])}", limits


def test_what_cannot_be_delivered_is_given_up_and_seen(prod: Assembly) -> None:
    """A tick or an audit is given up when the next one takes its place."""
    assert dict(deliveries(prod)) == DELIVERIES


def test_dead_letters_are_kept_longer_than_a_message_can_have_waited(prod: Assembly) -> None:
    assert {queue(prod, key)["MessageRetentionPeriod"] for key in DLQS} == {FOURTEEN_DAYS}
    assert max(queue(prod, key)["MessageRetentionPeriod"] for key in RECEIVES) < FOURTEEN_DAYS


def test_every_queue_is_encrypted_and_refuses_plain_http(prod: Assembly) -> None:
    queues = prod.of_type("AWS::SQS::Queue")
    assert {resource["Properties"]["SqsManagedSseEnabled"] for resource in queues.values()} == {True}
    guarded = {
        policy["Queues"][0]["Ref"]
        for policy in prod.properties("AWS::SQS::QueuePolicy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    }
    assert guarded == set(queues)


def test_messages_stay_hidden_while_their_function_may_run(prod: Assembly) -> None:
    timeouts = {f["FunctionName"]: f["Timeout"] for f in prod.properties("AWS::Lambda::Function")}
    for key in RUN_QUEUES:
        assert queue(prod, key)["VisibilityTimeout"] >= timeouts[prod.config.name("worker")]
    # A tick whose dispatcher died comes back within the lookahead.
    ticks_again = queue(prod, TICK)["VisibilityTimeout"]
    assert timeouts[prod.config.name("dispatcher")] <= ticks_again <= prod.config.lookahead * 60


def test_the_urls_that_functions_derive_are_those_of_the_queues(fargate: Assembly) -> None:
    variables = fargate.variables("api")
    pools = pools_from_text(json.loads(variables["ONTHEDOT_POOLS"]))
    urls = queue_urls(variables["ONTHEDOT_QUEUE_BASE"], pools.all)
    pools_of = ("default", "long", "pull", "render")
    assert set(urls) == {queue_key(pool, each) for pool in pools_of for each in schema.PRIORITIES}
    at = "https://sqs.eu-west-1.<AWS::URLSuffix>/123456789012/"
    derived = {url.removeprefix(at) for url in urls.values()}
    assert derived == {fargate.config.name(key) for key in (*RUN_QUEUES, "render-high", "render-medium", "render-low")}
    made = {properties["QueueName"] for properties in fargate.properties("AWS::SQS::Queue")}
    assert derived | {f"{name}-dlq" for name in derived} <= made
