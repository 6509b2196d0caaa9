"""What makes runs move: the schedule, the event sources and their shares."""

import json
from typing import Any

import pytest

from onthedot.settings import WorkerSettings
from tests.infra.kit import Assembly, resolve, short


@pytest.mark.parametrize(
    ("name", "rate", "function"),
    [("tick", "rate(1 minute)", "PlannerFunction"), ("audit", "rate(1 hour)", "AuditorFunction")],
)
def test_the_planner_is_woken_every_minute_and_the_auditor_every_hour(
    prod: Assembly, name: str, rate: str, function: str
) -> None:
    woken = prod.named("AWS::Scheduler::Schedule", "Name", name)
    assert woken["ScheduleExpression"] == rate
    assert woken["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert woken["State"] == "ENABLED"
    assert woken["Target"]["Arn"]["Fn::GetAtt"][0].startswith(function)


def test_only_this_accounts_schedules_act_through_the_schedules_roles(prod: Assembly, fargate: Assembly) -> None:
    for assembly, number in ((prod, 2), (fargate, 3)):
        trusted = [
            statement
            for role in assembly.properties("AWS::IAM::Role")
            for statement in role["AssumeRolePolicyDocument"]["Statement"]
            if statement["Principal"].get("Service") == "scheduler.amazonaws.com"
        ]
        condition = {"StringEquals": {"aws:SourceAccount": "123456789012"}}
        assert [statement["Condition"] for statement in trusted] == [condition] * number


def test_each_queue_that_a_function_reads_has_its_batches_and_its_share(fargate: Assembly, prod: Assembly) -> None:
    """Messages of pull pools invoke no function."""

    def sources(assembly: Assembly) -> dict[str, dict[str, Any]]:
        found = assembly.properties("AWS::Lambda::EventSourceMapping", "dispatch", "workers")
        return {short(source["EventSourceArn"]).removesuffix("Queue"): source for source in found}

    shares = {
        name: (source["BatchSize"], source["ScalingConfig"]["MaximumConcurrency"])
        for name, source in sources(prod).items()
    }
    # A tick has twice the number of groups, so that a slow minute keeps no other waiting.
    assert shares == {
        "Tick": (1, 2 * prod.config.shard_groups),
        "DefaultHigh": (10, 30),
        "DefaultMedium": (10, 15),
        "DefaultLow": (10, 5),
        "Long": (1, 20),
    }
    assert sources(fargate).keys() == shares.keys()
    for source in sources(prod).values():
        assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert "MaximumBatchingWindowInSeconds" not in source, "a window would hold runs back beyond their fire time"


def test_a_worker_elsewhere_is_told_what_the_function_is_told(prod: Assembly) -> None:
    told = json.loads(resolve(prod.template("workers")["Outputs"]["WorkerEnvironment"]["Value"]))
    function = prod.variables("worker")
    assert told == {name: value for name, value in function.items() if name.startswith("ONTHEDOT_")}
    assert WorkerSettings.from_environment(told).stage == "prod"
