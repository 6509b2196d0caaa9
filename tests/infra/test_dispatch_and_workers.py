"""What makes runs move: the schedule, the event sources and their shares."""

import json
from typing import Any

import pytest

from onthedot.core import schema
from onthedot.settings import WorkerSettings
from tests.infra.kit import Assembly, resolve, short


def sources(assembly: Assembly, stack: str) -> dict[str, dict[str, Any]]:
    """Event sources by the name of their queue, as far as the reference tells it."""
    found = assembly.properties("AWS::Lambda::EventSourceMapping", stack)
    return {short(source["EventSourceArn"]).removesuffix("Queue"): source for source in found}


def schedule(assembly: Assembly, name: str) -> dict[str, Any]:
    return assembly.named("AWS::Scheduler::Schedule", "Name", name)


def retries_of(assembly: Assembly, function: str) -> dict[str, Any]:
    found = assembly.properties("AWS::Lambda::EventInvokeConfig")
    [retries] = [config for config in found if config["FunctionName"]["Ref"].startswith(function)]
    return retries


@pytest.mark.parametrize(
    ("name", "rate", "function"),
    [("tick", "rate(1 minute)", "PlannerFunction"), ("audit", "rate(1 hour)", "AuditorFunction")],
)
def test_the_planner_is_woken_every_minute_and_the_auditor_every_hour(
    prod: Assembly, name: str, rate: str, function: str
) -> None:
    woken = schedule(prod, name)
    assert woken["ScheduleExpression"] == rate
    assert woken["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert woken["State"] == "ENABLED"
    assert woken["Target"]["Arn"]["Fn::GetAtt"][0].startswith(function)


@pytest.mark.parametrize(("name", "seconds"), [("tick", 120), ("audit", 3600)])
def test_what_cannot_be_delivered_is_given_up_when_the_next_takes_its_place_and_seen(
    prod: Assembly, name: str, seconds: int
) -> None:
    target = schedule(prod, name)["Target"]
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": seconds, "MaximumRetryAttempts": 2}
    assert "ScheduleDlq" in resolve(target["DeadLetterConfig"]["Arn"])


def test_a_planner_that_fails_is_retried_for_as_long_as_its_tick_matters(prod: Assembly) -> None:
    retries = retries_of(prod, "PlannerFunction")
    assert (retries["MaximumEventAgeInSeconds"], retries["MaximumRetryAttempts"]) == (120, 1)
    assert "ScheduleDlq" in resolve(retries["DestinationConfig"]["OnFailure"]["Destination"])


def test_an_auditor_that_fails_is_tried_again_within_its_hour(prod: Assembly) -> None:
    retries = retries_of(prod, "AuditorFunction")
    assert (retries["MaximumEventAgeInSeconds"], retries["MaximumRetryAttempts"]) == (3600, 1)
    assert "ScheduleDlq" in resolve(retries["DestinationConfig"]["OnFailure"]["Destination"])


@pytest.mark.parametrize("name", ["TickRole", "AuditRole"])
def test_only_this_accounts_schedules_act_through_the_schedules_roles(prod: Assembly, name: str) -> None:
    [role] = [r for i, r in prod.of_type("AWS::IAM::Role").items() if i.startswith(name)]
    [statement] = role["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Condition"] == {"StringEquals": {"aws:SourceAccount": "123456789012"}}


def test_dispatchers_take_one_tick_each_and_a_slow_minute_keeps_no_other_waiting(prod: Assembly) -> None:
    [tick] = sources(prod, "dispatch").values()
    assert tick["BatchSize"] == 1
    assert tick["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert tick["ScalingConfig"] == {"MaximumConcurrency": 2 * prod.config.shard_groups}


@pytest.mark.parametrize("priority", schema.PRIORITIES)
def test_workers_have_an_event_source_for_each_priority_with_its_share(prod: Assembly, priority: str) -> None:
    source = sources(prod, "workers")[f"Default{priority.capitalize()}"]
    assert source["BatchSize"] == 10
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["ScalingConfig"] == {"MaximumConcurrency": {"HIGH": 30, "MEDIUM": 15, "LOW": 5}[priority]}
    assert "MaximumBatchingWindowInSeconds" not in source, "a window would hold runs back beyond their fire time"


def test_long_runs_are_taken_one_by_one_and_bounded(prod: Assembly) -> None:
    source = sources(prod, "workers")["Long"]
    assert source["BatchSize"] == 1
    assert source["ScalingConfig"] == {"MaximumConcurrency": 20}
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["FunctionName"] == sources(prod, "workers")["DefaultHigh"]["FunctionName"]


def test_only_push_pools_feed_the_worker_function(fargate: Assembly) -> None:
    assert set(sources(fargate, "workers")) == {"DefaultHigh", "DefaultMedium", "DefaultLow", "Long"}


def test_a_worker_elsewhere_is_told_what_the_function_is_told(prod: Assembly) -> None:
    told = json.loads(resolve(prod.template("workers")["Outputs"]["WorkerEnvironment"]["Value"]))
    function = prod.named("AWS::Lambda::Function", "FunctionName", "worker")["Environment"]["Variables"]
    assert told == {name: resolve(value) for name, value in function.items() if name.startswith("ONTHEDOT_")}
    assert WorkerSettings.from_environment(told).stage == "prod"
