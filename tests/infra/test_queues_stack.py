"""The queues: names, dead letters, times, and who watches them."""

import json
from typing import Any

import pytest

from onthedot import schema
from onthedot.domain.runs.queue_names import queue_key
from onthedot.domain.workers.pools import DEFAULT_POOLS
from stacks.queues_stack import SCHEDULE_DLQ, TICK
from tests.infra.kit import Assembly, resolve

PUSHED = ["default-high", "default-medium", "default-low", "long"]
PULLED = ["pull-high", "pull-medium", "pull-low"]
RUN_QUEUES = [*PUSHED, *PULLED]
SOURCES = [*RUN_QUEUES, TICK]
DLQS = [*(f"{key}-dlq" for key in SOURCES), SCHEDULE_DLQ]
DLQS_OF_EVENTS = ["events-dlq", "publisher-dlq"]
"""They stand beside the rules that may write to them."""
FOURTEEN_DAYS = 14 * 24 * 3600


def queue(assembly: Assembly, key: str) -> dict[str, Any]:
    return assembly.named("AWS::SQS::Queue", "QueueName", key)


def test_there_are_these_queues_and_no_others(prod: Assembly) -> None:
    names = {properties["QueueName"] for properties in prod.properties("AWS::SQS::Queue")}
    assert names == {prod.config.name(key) for key in [*SOURCES, *DLQS, *DLQS_OF_EVENTS]}


@pytest.mark.parametrize(("key", "receives"), [*((k, 20) for k in PUSHED), *((k, 1000) for k in PULLED), (TICK, 5)])
def test_each_queue_has_a_dead_letter_queue_of_its_own(prod: Assembly, key: str, receives: int) -> None:
    redrive = queue(prod, key)["RedrivePolicy"]
    dlq_id = redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]
    assert prod.of_type("AWS::SQS::Queue")[dlq_id]["Properties"]["QueueName"] == prod.config.name(f"{key}-dlq")
    assert redrive["maxReceiveCount"] == receives


def test_dead_letters_are_kept_longer_than_a_message_can_have_waited(prod: Assembly) -> None:
    assert {queue(prod, key)["MessageRetentionPeriod"] for key in [*DLQS, *DLQS_OF_EVENTS]} == {FOURTEEN_DAYS}
    assert max(queue(prod, key)["MessageRetentionPeriod"] for key in SOURCES) < FOURTEEN_DAYS


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
    assert queue(prod, TICK)["VisibilityTimeout"] >= timeouts[prod.config.name("dispatcher")]


def test_a_tick_whose_dispatcher_died_comes_back_within_the_lookahead(prod: Assembly) -> None:
    assert queue(prod, TICK)["VisibilityTimeout"] <= prod.config.lookahead * 60


def test_one_message_in_any_dead_letter_queue_raises_an_alarm(prod: Assembly) -> None:
    watched = {}
    for alarm in prod.properties("AWS::CloudWatch::Alarm", "queues"):
        if alarm["MetricName"] == "ApproximateNumberOfMessagesVisible":
            [dimension] = alarm["Dimensions"]
            watched[dimension["Value"]["Fn::GetAtt"][0]] = (alarm["ComparisonOperator"], alarm["Threshold"])
    ids = {i: r["Properties"]["QueueName"] for i, r in prod.of_type("AWS::SQS::Queue").items()}
    assert {ids[logical_id] for logical_id in watched} == {prod.config.name(key) for key in DLQS}
    assert set(watched.values()) == {("GreaterThanThreshold", 0)}


def test_ticks_that_wait_longer_than_the_lookahead_raise_an_alarm(prod: Assembly) -> None:
    alarm = prod.named("AWS::CloudWatch::Alarm", "AlarmName", "ticks-late")
    assert (alarm["MetricName"], alarm["Threshold"]) == ("ApproximateAgeOfOldestMessage", 120)


def test_all_urls_are_in_one_output_by_their_short_names(prod: Assembly) -> None:
    urls = json.loads(resolve(prod.template("queues")["Outputs"]["QueueUrls"]["Value"]))
    assert set(urls) == {*SOURCES, *DLQS}
    assert urls["default-high"].startswith("<DefaultHighQueue")


def test_settings_name_a_queue_for_every_pool_and_priority_also_where_one_serves_all(prod: Assembly) -> None:
    variables = prod.named("AWS::Lambda::Function", "FunctionName", "api")["Environment"]["Variables"]
    urls = json.loads(resolve(variables["ONTHEDOT_QUEUE_URLS"]))
    assert set(urls) == {queue_key(pool.name, priority) for pool in DEFAULT_POOLS for priority in schema.PRIORITIES}
    assert len({urls[queue_key("long", priority)] for priority in schema.PRIORITIES}) == 1
    assert len(set(urls.values())) == len(RUN_QUEUES)


def test_a_pool_that_is_added_gets_queues_of_its_own(fargate: Assembly) -> None:
    names = {properties["QueueName"] for properties in fargate.properties("AWS::SQS::Queue")}
    keys = [queue_key("render", priority) for priority in schema.PRIORITIES]
    assert names >= {fargate.config.name(name) for key in keys for name in (key, f"{key}-dlq")}
