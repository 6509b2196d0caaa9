"""The queues: names, dead letters, times, and who watches them."""

import json
from typing import Any

import pytest

from onthedot.core import schema
from onthedot.core.pools import pools_from_text
from onthedot.core.slots import queue_key, queue_urls
from onthedot.engines.aws.sqs import dead_letters, ticks
from tests.infra.kit import Assembly, resolve

TICK = ticks.QUEUE
POOLS = ("default", "long", "pull", "render")
PUSHED = ["default-high", "default-medium", "default-low", "long"]
PULLED = ["pull-high", "pull-medium", "pull-low"]
RUN_QUEUES = [*PUSHED, *PULLED]
SOURCES = [*RUN_QUEUES, TICK]
DLQS = [*(f"{key}-dlq" for key in SOURCES), "schedule-dlq"]
DLQS_OF_EVENTS = ["events-dlq", "publisher-dlq", "statistics-dlq"]
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


@pytest.mark.parametrize("function", ["api", "worker", "dispatcher", "events", "auditor"])
def test_the_urls_that_functions_derive_are_those_of_the_queues(fargate: Assembly, function: str) -> None:
    variables = fargate.named("AWS::Lambda::Function", "FunctionName", function)["Environment"]["Variables"]
    pools = pools_from_text(json.loads(variables["ONTHEDOT_POOLS"]))
    urls = queue_urls(resolve(variables["ONTHEDOT_QUEUE_BASE"]), pools.all)
    assert set(urls) == {queue_key(pool, each) for pool in POOLS for each in schema.PRIORITIES}
    at = "https://sqs.eu-west-1.<AWS::URLSuffix>/123456789012/"
    assert {url.removeprefix(at) for url in urls.values()} == {
        fargate.config.name(key) for key in (*RUN_QUEUES, "render-high", "render-medium", "render-low")
    }


def test_ticks_and_dead_events_have_the_names_that_functions_derive(prod: Assembly) -> None:
    assert {queue(prod, name)["QueueName"] for name in (ticks.QUEUE, dead_letters.QUEUE)} == {
        "onthedot-prod-tick",
        "onthedot-prod-events-dlq",
    }


def test_a_pool_that_is_added_gets_queues_of_its_own(fargate: Assembly) -> None:
    names = {properties["QueueName"] for properties in fargate.properties("AWS::SQS::Queue")}
    keys = [queue_key("render", priority) for priority in schema.PRIORITIES]
    assert names >= {fargate.config.name(name) for key in keys for name in (key, f"{key}-dlq")}
