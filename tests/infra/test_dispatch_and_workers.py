"""What makes runs move: the schedule, the event sources and their shares, and the alarms on them."""

from typing import Any

import pytest

from onthedot import schema
from tests.infra.kit import Assembly, resolve


def sources(assembly: Assembly, stack: str) -> dict[str, dict[str, Any]]:
    """Event sources by the name of their queue, as far as the reference tells it."""
    found = assembly.properties("AWS::Lambda::EventSourceMapping", stack)
    return {resolve(source["EventSourceArn"]).split("FnGetAtt")[1].split("Queue")[0]: source for source in found}


def test_the_planner_is_woken_every_minute(prod: Assembly) -> None:
    [schedule] = prod.properties("AWS::Scheduler::Schedule")
    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    assert schedule["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert schedule["State"] == "ENABLED"
    assert schedule["Target"]["Arn"]["Fn::GetAtt"][0].startswith("PlannerFunction")


def test_a_tick_that_cannot_be_delivered_is_soon_given_up_and_seen(prod: Assembly) -> None:
    [schedule] = prod.properties("AWS::Scheduler::Schedule")
    assert schedule["Target"]["RetryPolicy"] == {"MaximumEventAgeInSeconds": 120, "MaximumRetryAttempts": 2}
    assert "ScheduleDlq" in resolve(schedule["Target"]["DeadLetterConfig"]["Arn"])


def test_a_planner_that_fails_is_retried_for_as_long_as_its_tick_matters(prod: Assembly) -> None:
    [retries] = prod.properties("AWS::Lambda::EventInvokeConfig")
    assert (retries["MaximumEventAgeInSeconds"], retries["MaximumRetryAttempts"]) == (120, 1)
    assert "ScheduleDlq" in resolve(retries["DestinationConfig"]["OnFailure"]["Destination"])


def test_only_this_accounts_schedules_act_through_the_schedules_role(prod: Assembly) -> None:
    [role] = [r for i, r in prod.of_type("AWS::IAM::Role").items() if i.startswith("TickRole")]
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


@pytest.mark.parametrize("name", ["planner-errors", "dispatcher-errors"])
def test_errors_raise_an_alarm(prod: Assembly, name: str) -> None:
    alarm = prod.named("AWS::CloudWatch::Alarm", "AlarmName", name)
    assert (alarm["MetricName"], alarm["Threshold"]) == ("Errors", 0)
    assert alarm["TreatMissingData"] == "notBreaching"


def test_a_clock_that_stopped_raises_an_alarm_too(prod: Assembly) -> None:
    alarm = prod.named("AWS::CloudWatch::Alarm", "AlarmName", "planner-silent")
    assert (alarm["MetricName"], alarm["ComparisonOperator"]) == ("Invocations", "LessThanThreshold")
    assert (alarm["EvaluationPeriods"], alarm["Period"], alarm["TreatMissingData"]) == (3, 60, "breaching")
