"""Workers on Fargate: no task without a backlog, no incoming calls, and the grants of each task."""

import json
from typing import Any

import pytest

from onthedot.core.pools import pools_from_text
from onthedot.settings import WorkerSettings
from tests.infra.kit import Assembly, by_action, resolve, statements_of
from tests.infra.test_functions import PULL, RUNS, WORKING, all_of, on

POOLS = ("pull", "render")
OWN_QUEUES = {"RenderHighQueue", "RenderMediumQueue", "RenderLowQueue"}
DIRECT_MAY = all_of(
    WORKING,
    on(RUNS | OWN_QUEUES, "sqs", "SendMessage"),
    on(OWN_QUEUES, "sqs", PULL),
    on({"arn:<AWS::Partition>:ecs:eu-west-1:123456789012:task/onthedot-prod-workers/*"}, "ecs", "UpdateTaskProtection"),
)
"""What a task may do that works on the queues itself."""


def task(assembly: Assembly, pool: str) -> dict[str, Any]:
    return assembly.named("AWS::ECS::TaskDefinition", "Family", f"worker-{pool}")


def container(assembly: Assembly, pool: str) -> dict[str, Any]:
    [only] = task(assembly, pool)["ContainerDefinitions"]
    assert isinstance(only, dict)
    return only


def service(assembly: Assembly, pool: str) -> dict[str, Any]:
    return assembly.named("AWS::ECS::Service", "ServiceName", f"worker-{pool}")


def environment(assembly: Assembly, pool: str) -> dict[str, str]:
    return {entry["Name"]: resolve(entry["Value"]) for entry in container(assembly, pool)["Environment"]}


def alarm(assembly: Assembly, name: str) -> dict[str, Any]:
    return assembly.named("AWS::CloudWatch::Alarm", "AlarmName", name)


def math_of(alarm_: dict[str, Any]) -> tuple[str, dict[str, tuple[str, str, str]]]:
    """The expression, and for each of its metrics the name, the statistic and the queue or service."""
    [expression] = [metric["Expression"] for metric in alarm_["Metrics"] if metric["ReturnData"]]
    parts = {m["Id"]: m["MetricStat"] for m in alarm_["Metrics"] if not m["ReturnData"]}
    assert {part["Period"] for part in parts.values()} == {60}
    return expression, {
        key: (part["Metric"]["MetricName"], part["Stat"], resolve(part["Metric"]["Dimensions"][-1]["Value"]))
        for key, part in parts.items()
    }


def policy_of(assembly: Assembly, alarm_: dict[str, Any]) -> dict[str, Any]:
    [action] = alarm_["AlarmActions"]
    policies = assembly.of_type("AWS::ApplicationAutoScaling::ScalingPolicy")
    steps = policies[action["Ref"]]["Properties"]["StepScalingPolicyConfiguration"]
    assert isinstance(steps, dict)
    return steps


def test_a_service_keeps_its_number_of_tasks_and_nobody_can_call_in(fargate: Assembly) -> None:
    [(group, made_group)] = fargate.of_type("AWS::EC2::SecurityGroup").items()
    assert "SecurityGroupIngress" not in made_group["Properties"]
    assert not fargate.of_type("AWS::EC2::SecurityGroupIngress")
    for pool in POOLS:
        made = service(fargate, pool)
        assert made["LaunchType"] == "FARGATE"
        # With the number in the template, CloudFormation would set it with each change of the service.
        assert not {"DesiredCount", "LoadBalancers", "ServiceRegistries"} & set(made)
        assert made["DeploymentConfiguration"]["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}
        network = made["NetworkConfiguration"]["AwsvpcConfiguration"]
        assert network["SecurityGroups"] == [{"Fn::GetAtt": [group, "GroupId"]}]
        assert "PortMappings" not in container(fargate, pool)


def test_nothing_in_the_stack_is_paid_by_the_hour_while_no_task_runs(fargate: Assembly) -> None:
    types = {resource["Type"] for resource in fargate.template("fargate")["Resources"].values()}
    paid = ("NatGateway", "EIP", "LoadBalancer", "Instance", "TransitGateway")
    assert [t for t in sorted(types) if t.endswith(paid)] == []
    endpoints = fargate.properties("AWS::EC2::VPCEndpoint")
    assert {endpoint["VpcEndpointType"] for endpoint in endpoints} == {"Gateway"}


def test_the_network_has_two_zones_of_any_region_and_is_logged(fargate: Assembly) -> None:
    subnets = fargate.properties("AWS::EC2::Subnet")
    zones = [subnet["AvailabilityZone"] for subnet in subnets]
    assert zones == [{"Fn::Select": [number, {"Fn::GetAZs": ""}]} for number in range(2)]
    [flows] = fargate.properties("AWS::EC2::FlowLog")
    assert flows["TrafficType"] == "ALL"
    manifest = json.loads((fargate.directory / "manifest.json").read_text())
    assert "missing" not in manifest, "synthesis would ask an account"


def test_a_network_that_is_given_is_used_and_leads_out_by_itself(other: Assembly) -> None:
    network = service(other, "render")["NetworkConfiguration"]["AwsvpcConfiguration"]
    assert network["Subnets"] == ["subnet-12345678", "subnet-87654321"]
    assert network["AssignPublicIp"] == "DISABLED"
    assert not other.of_type("AWS::EC2::VPC")
    [group] = other.properties("AWS::EC2::SecurityGroup")
    assert group["VpcId"] == "vpc-12345678"


@pytest.mark.parametrize(
    ("pool", "size", "most", "init"), [("pull", ("1024", "2048"), 5, False), ("render", ("512", "1024"), 10, True)]
)
def test_a_task_is_as_its_pool_says_and_can_change_nothing_but_its_scratch_volume(
    fargate: Assembly, pool: str, size: tuple[str, str], most: int, init: bool
) -> None:
    made, inside = task(fargate, pool), container(fargate, pool)
    assert (made["Cpu"], made["Memory"]) == size
    assert made["RuntimePlatform"] == {"CpuArchitecture": "ARM64", "OperatingSystemFamily": "LINUX"}
    assert made["Volumes"] == [{"Name": "scratch"}]
    assert inside["ReadonlyRootFilesystem"] is True
    assert inside["MountPoints"] == [{"ContainerPath": "/tmp", "ReadOnly": False, "SourceVolume": "scratch"}]
    assert inside["LinuxParameters"]["Capabilities"] == {"Drop": ["ALL"]}
    # Beside a shell, an init process would show the token in its environment.
    assert inside["LinuxParameters"]["InitProcessEnabled"] is init
    assert "Privileged" not in inside
    assert inside["StopTimeout"] == 120
    assert inside["LogConfiguration"]["Options"]["mode"] == "non-blocking", "it never waits for its log"
    targets = fargate.properties("AWS::ApplicationAutoScaling::ScalableTarget")
    [target] = [t for t in targets if f"<{pool.capitalize()}Service" in resolve(t["ResourceId"])]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (0, most)
    assert target["ScalableDimension"] == "ecs:service:DesiredCount"
    # The service makes its role in an account that has none. In an account that has it, a resource would fail.
    assert "RoleARN" not in target
    assert not fargate.of_type("AWS::IAM::ServiceLinkedRole")


def test_an_ordinary_task_is_told_what_the_worker_function_is_told(fargate: Assembly) -> None:
    told = environment(fargate, "render")
    settings = WorkerSettings.from_environment(told)
    assert pools_from_text(settings.pools).all == fargate.config.all_pools
    assert settings.allow_private_targets is False
    function = fargate.variables("worker")
    ours = {name: value for name, value in told.items() if name.startswith("ONTHEDOT_")}
    assert ours == {name: value for name, value in function.items() if name.startswith("ONTHEDOT_")}
    assert "Secrets" not in container(fargate, "render")


def test_an_ordinary_task_may_do_exactly_what_it_needs(fargate: Assembly) -> None:
    assert by_action(statements_of(fargate, task(fargate, "render")["TaskRoleArn"]["Fn::GetAtt"][0])) == DIRECT_MAY


def test_an_ordinary_task_puts_only_keys_and_itself_into_the_table(fargate: Assembly) -> None:
    granted = statements_of(fargate, task(fargate, "render")["TaskRoleArn"]["Fn::GetAtt"][0])
    puts = [statement["Condition"] for statement in granted if statement["Action"] == "dynamodb:PutItem"]
    under = [condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"] for condition in puts]
    assert sorted(under) == [["signing#*"], ["workers"]]


def test_tasks_of_a_pool_that_calls_nothing_in_awss_name_may_not(other: Assembly) -> None:
    granted = by_action(statements_of(other, task(other, "render")["TaskRoleArn"]["Fn::GetAtt"][0]))
    assert not {"lambda:InvokeFunction", "sns:Publish", "sts:AssumeRole"} & set(granted)
    assert "--aws" not in container(other, "render")["Command"]


def test_a_task_with_a_shell_has_a_role_that_allows_nothing(fargate: Assembly) -> None:
    role = task(fargate, "pull")["TaskRoleArn"]["Fn::GetAtt"][0]
    assert statements_of(fargate, role) == []
    made = fargate.of_type("AWS::IAM::Role")[role]["Properties"]
    assert not {"ManagedPolicyArns", "Policies"} & set(made)


def test_a_task_with_a_shell_knows_the_api_and_a_token_and_nothing_else(fargate: Assembly) -> None:
    told = environment(fargate, "pull")
    assert set(told) == {"ONTHEDOT_URL", "LOG_LEVEL", "POWERTOOLS_SERVICE_NAME"}
    assert told["ONTHEDOT_URL"].startswith("https://<onthedot-prod-api:")
    assert told["ONTHEDOT_URL"].endswith(".execute-api.eu-west-1.<AWS::URLSuffix>/prod")
    [secret] = container(fargate, "pull")["Secrets"]
    assert secret["Name"] == "ONTHEDOT_TOKEN"
    [(logical_id, made)] = fargate.of_type("AWS::SecretsManager::Secret").items()
    assert secret["ValueFrom"] == {"Ref": logical_id}
    assert made["Properties"]["Name"] == "onthedot/prod/worker-token"


def test_only_what_starts_a_task_with_a_shell_reads_its_token(fargate: Assembly) -> None:
    readers = {
        role
        for role in fargate.of_type("AWS::IAM::Role")
        if "secretsmanager:GetSecretValue" in by_action(statements_of(fargate, role))
    }
    assert readers == {task(fargate, "pull")["ExecutionRoleArn"]["Fn::GetAtt"][0]}


def watching(assembly: Assembly, name: str) -> tuple[str, set[str], tuple[Any, ...], list[tuple[int, int]]]:
    """The expression of an alarm, its metrics, when it goes off, and its steps: from how many, and by how many."""
    made = alarm(assembly, name)
    expression, metrics = math_of(made)
    names = {metric.removeprefix("ApproximateNumberOfMessages") for metric, _, _ in metrics.values()}
    assert len(metrics) <= 10, "CloudWatch takes no more in one alarm"
    assert {statistic for metric, statistic, _ in metrics.values() if metric != "CPUUtilization"} == {"Maximum"}
    assert len({queue for metric, _, queue in metrics.values() if metric != "CPUUtilization"}) == 3
    assert made["TreatMissingData"] == "notBreaching"
    policy = policy_of(assembly, made)
    assert policy["MetricAggregationType"] == "Minimum"
    # Bounds count from the threshold: so many missing, and one.
    steps = [
        (1 + step.get("MetricIntervalLowerBound", -1), step["ScalingAdjustment"]) for step in policy["StepAdjustments"]
    ]
    of_periods = (made.get("DatapointsToAlarm"), made["EvaluationPeriods"])
    goes_off = (made["ComparisonOperator"], made["Threshold"], of_periods, policy["AdjustmentType"], policy["Cooldown"])
    return expression, names, goes_off, steps


WAITING = [f"w{number}" for number in range(6)]


@pytest.mark.parametrize(("pool", "steps"), [("pull", [1, 2, 4]), ("render", [1, 2, 4, 8])])
def test_as_soon_as_one_run_waits_a_task_is_missing_and_more_by_the_backlog_of_each(
    fargate: Assembly, pool: str, steps: list[int]
) -> None:
    expression, names, goes_off, found = watching(fargate, f"{pool}-missing-tasks")
    assert expression == f"CEIL(SUM([{', '.join(WAITING)}]) / 10) - FILL(tasks, 0)"
    assert names == {"Visible", "Delayed", "CPUUtilization"}
    # The newest minute alone, whose tasks may not have arrived, starts nothing.
    assert goes_off == ("GreaterThanOrEqualToThreshold", 1, (2, 3), "ChangeInCapacity", 300)
    assert found == [(step, step) for step in steps]


def test_tasks_that_are_too_many_for_ten_minutes_are_stopped_in_doubling_steps(fargate: Assembly) -> None:
    expression, names, goes_off, steps = watching(fargate, "render-surplus-tasks")
    # Two runs side by side in a task. No `FILL` and no `SUM`: a value that has not arrived may be that of a run in its
    # tenth hour.
    assert expression == f"tasks - CEIL(({' + '.join(WAITING)}) / 10) - CEIL((f0 + f1 + f2) / 2)"
    assert names == {"Visible", "Delayed", "NotVisible", "CPUUtilization"}
    assert goes_off == ("GreaterThanOrEqualToThreshold", 1, (None, 10), "ChangeInCapacity", 600)
    assert steps == [(1, -1), (2, -2), (4, -4), (8, -8)]


def test_tasks_that_cannot_protect_themselves_end_together_when_nothing_waited_or_ran(fargate: Assembly) -> None:
    expression, names, goes_off, steps = watching(fargate, "pull-idle")
    assert sorted(expression.split(" + ")) == sorted([*WAITING, "f0", "f1", "f2"])
    assert names == {"Visible", "Delayed", "NotVisible"}
    assert goes_off[:4] == ("LessThanOrEqualToThreshold", 0, (None, 10), "ExactCapacity")
    assert steps == [(0, 0)]
    alarms = {made["AlarmName"] for made in fargate.properties("AWS::CloudWatch::Alarm", "fargate")}
    assert {name for name in alarms if name.endswith(("idle", "surplus-tasks"))} == {
        "onthedot-prod-pull-idle",
        "onthedot-prod-render-surplus-tasks",
    }


def test_the_backlog_of_a_task_is_for_the_stage_to_say(other: Assembly) -> None:
    assert "/ 3)" in math_of(alarm(other, "pull-missing-tasks"))[0]


def test_queues_whose_metrics_start_tasks_are_touched_before_sqs_forgets_them(fargate: Assembly) -> None:
    touches = fargate.properties("AWS::Scheduler::Schedule", "fargate")
    assert {touch["ScheduleExpression"] for touch in touches} == {"rate(3 hours)"}
    assert {resolve(touch["Target"]["Arn"]) for touch in touches} == {
        "arn:<AWS::Partition>:scheduler:::aws-sdk:sqs:tagQueue"
    }
    inputs = [json.loads(resolve(touch["Target"]["Input"])) for touch in touches]
    assert len({one["QueueUrl"] for one in inputs}) == 6
    # A tag that the queue has anyway: nothing changes.
    tags = [tag for queue in fargate.properties("AWS::SQS::Queue") for tag in queue["Tags"]]
    for one in inputs:
        assert {"Key": "application", "Value": one["Tags"]["application"]} in tags
