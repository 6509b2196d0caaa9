"""The templates against the rules of others: cdk-nag, cfn-lint, and what the local AWS can deploy."""

from pathlib import Path
from typing import Any

import pytest

from stage_config import StageConfig
from tests.infra.conftest import FARGATE_POOLS
from tests.infra.kit import STACKS, Assembly, build, new_app

# See local-aws.md: one resource of such a type, and MiniStack rejects the whole template.
UNKNOWN_TO_MINISTACK = (
    "AWS::ApplicationAutoScaling::",
    "AWS::EC2::NatGateway",
    "AWS::EC2::EIP",
    "AWS::EC2::FlowLog",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::WAFv2::WebACLAssociation",
    "Custom::",
)


def test_cdk_nag_finds_nothing_that_is_not_acknowledged(prod: Assembly, local: Assembly, fargate: Assembly) -> None:
    assert prod.findings() == set()
    assert local.findings() == set()
    assert fargate.findings() == set()


def test_a_finding_that_nobody_acknowledged_fails_the_synthesis_and_is_reported(tmp_path: Path) -> None:
    from aws_cdk import aws_s3 as s3

    import nag

    config, app = StageConfig(stage="bad"), new_app(tmp_path / "cdk.out")
    stacks = build(app, config, tmp_path)
    s3.Bucket(stacks.data, "Bad")
    nag.check(app, config, stacks.all())
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    bad = "onthedot-bad-data/Bad/Resource"
    assert Assembly(config, tmp_path / "cdk.out").findings() == {("AwsSolutions-S1", bad), ("AwsSolutions-S10", bad)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "context",
    [
        {},
        {"local": True},
        {"pools": FARGATE_POOLS, "lambda_functions": ["a", "b-*"], "aws_calls": ["sns:Publish on *"]},
        {"pools": FARGATE_POOLS[1:], "vpc_id": "vpc-12345678", "vpc_subnets": "subnet-12345678"},
    ],
    ids=["plain", "local", "fargate", "fargate-in-a-given-network"],
)
def test_every_suppression_is_needed_and_says_why(tmp_path: Path, context: dict[str, Any]) -> None:
    from aws_cdk import Validations
    from cdk_nag import AwsSolutionsChecks

    import nag

    config, app = StageConfig.from_context({"stage": "bare", **context}), new_app(tmp_path / "cdk.out")
    build(app, config, tmp_path)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    suppressed = {(s.rule, f"{config.name(s.stack)}/{s.path}") for s in nag.suppressions(config)}
    assert suppressed == Assembly(config, tmp_path / "cdk.out").findings()
    assert min(len(s.reason) for s in nag.suppressions(config)) > 30


@pytest.mark.slow
@pytest.mark.parametrize("stack", [*STACKS, "fargate"])
def test_cfn_lint_has_nothing_to_say(prod: Assembly, fargate: Assembly, stack: str) -> None:
    from cfnlint.api import ManualArgs, lint  # type: ignore[import-untyped] # takes a second

    # W3005: CDK itself writes a DependsOn from each function to its role, beside the reference.
    # W6001: a worker elsewhere is told all it must know in one output, names of other stacks included.
    ignored = ["W3005", "W6001"] if stack == "workers" else ["W3005"]
    for assembly in (prod, fargate) if stack in STACKS else (fargate,):
        # I3510: resources fit the actions. `test_policies.py` checks resources that are no plain text.
        rules = ManualArgs(regions=["eu-west-1"], ignore_checks=ignored, include_checks=["I3510"])
        found = lint(assembly.path(stack).read_text(), config=rules)
        assert [str(match) for match in found] == []


def test_everything_can_be_deployed_to_the_local_aws(local: Assembly) -> None:
    assert local.stacks == tuple(sorted(STACKS))
    types = {r["Type"] for stack in STACKS for r in local.template(stack)["Resources"].values()}
    assert [t for t in sorted(types) if t.startswith(UNKNOWN_TO_MINISTACK)] == []


def test_the_local_stage_has_the_same_resources_as_any_other(prod: Assembly, local: Assembly) -> None:
    def types(assembly: Assembly) -> list[list[str]]:
        return [sorted(r["Type"] for r in assembly.template(stack)["Resources"].values()) for stack in STACKS]

    assert types(prod) == types(local)
