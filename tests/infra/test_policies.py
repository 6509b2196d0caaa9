"""Every policy of every template against AWS's own data about actions, resources and conditions."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from localstack.enforced_iam import NOT_EVALUATED
from tests.infra.kit import ROOT, Assembly, as_list
from tests.infra.policy_lint import Statement, findings
from tests.unit.project.pages import FENCE, PAGES, text_of

REGION, ACCOUNT = "eu-west-1", "123456789012"
PSEUDO: Final = {
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "AWS::URLSuffix": "amazonaws.com",
}
# The ARN of each type of resource that a policy refers to.
ARNS: Final = {
    "AWS::DynamoDB::Table": "dynamodb:{here}:table/{id}",
    "AWS::S3::Bucket": "s3:::{id}",
    "AWS::SQS::Queue": "sqs:{here}:{id}",
    "AWS::SNS::Topic": "sns:{here}:{id}",
    "AWS::Lambda::Function": "lambda:{here}:function:{id}",
    "AWS::Logs::LogGroup": "logs:{here}:log-group:{id}:*",
    "AWS::Events::EventBus": "events:{here}:event-bus/{id}",
    "AWS::Events::Rule": "events:{here}:rule/{id}",
    "AWS::SecretsManager::Secret": "secretsmanager:{here}:secret:{id}",
    "AWS::IAM::Role": "iam::{account}:role/{id}",
    "AWS::ECS::Cluster": "ecs:{here}:cluster/{id}",
}


class Resolver:
    """Replaces the references in the templates of a synthesis by the text that CloudFormation would put there."""

    def __init__(self, assembly: Assembly) -> None:
        self.templates = {stack: assembly.template(stack) for stack in assembly.stacks}
        self._exports = {
            self.text(output["Export"]["Name"], stack): (output["Value"], stack)
            for stack, template in self.templates.items()
            for output in template.get("Outputs", {}).values()
            if "Export" in output
        }

    def text(self, value: Any, stack: str) -> str:
        match value:
            case {"Fn::Join": [separator, parts]}:
                return str(separator).join(self.text(part, stack) for part in parts)
            case {"Fn::Sub": str(template)}:
                return re.sub(r"\$\{([^}]+)\}", lambda found: self.text({"Ref": found[1]}, stack), template)
            case {"Fn::ImportValue": name}:
                return self.text(*self._exports[self.text(name, stack)])
            case {"Fn::GetAtt": [logical_id, attribute]}:
                return self._resource(stack, logical_id, attribute)
            case {"Ref": name}:
                return PSEUDO[name] if name in PSEUDO else self._resource(stack, name, "Ref")
            case str():
                return value
        raise AssertionError(f"unknown reference {value}")

    def _resource(self, stack: str, logical_id: str, attribute: str) -> str:
        kind = self.templates[stack]["Resources"][logical_id]["Type"]
        form = "arn:aws:" + ARNS[kind].format(here=f"{REGION}:{ACCOUNT}", account=ACCOUNT, id=logical_id)
        refers_by_arn = kind in {"AWS::SNS::Topic", "AWS::SecretsManager::Secret"}
        if attribute == "Arn" or (attribute == "Ref" and refers_by_arn):
            return form
        if attribute == "StreamArn":
            return f"{form}/stream/1"
        assert attribute == "Ref", attribute
        return logical_id


def documents(value: Any) -> Iterator[dict[str, Any]]:
    """Every policy document in the properties of a resource, wherever it is: inline, managed, trust or resource."""
    if isinstance(value, dict):
        if "Statement" in value and "Version" in value:
            yield value
        for inside in value.values():
            yield from documents(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from documents(inside)


def statements(assembly: Assembly) -> list[Statement]:
    resolver = Resolver(assembly)
    found = []
    for stack, template in resolver.templates.items():
        for logical_id, resource in template["Resources"].items():
            for document in documents(resource.get("Properties", {})):
                for one in as_list(document["Statement"]):
                    assert not {"NotAction", "NotResource"} & set(one), "the lint does not know these"
                    found.append(
                        Statement(
                            place=f"{stack}/{logical_id}",
                            effect=one["Effect"],
                            actions=tuple(as_list(one["Action"])),
                            resources=tuple(resolver.text(r, stack) for r in as_list(one.get("Resource", []))),
                            conditions=one.get("Condition", {}),
                        )
                    )
    return found


@pytest.fixture(scope="module")
def everything(prod: Assembly, local: Assembly, fargate: Assembly) -> list[Statement]:
    return [statement for assembly in (prod, local, fargate) for statement in statements(assembly)]


def test_every_policy_is_as_aws_documents_its_actions_resources_and_conditions(everything: list[Statement]) -> None:
    assert {text for statement in everything for text in findings(statement)} == set()


GOOD = Statement(
    place="here",
    effect="Allow",
    actions=("dynamodb:GetItem", "dynamodb:Query"),
    resources=("arn:aws:dynamodb:eu-west-1:123456789012:table/jobs",),
    conditions={"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["a"]}},
)
INDEX = "arn:aws:dynamodb:eu-west-1:123456789012:table/jobs/index/due"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"actions": ("dynamodb:ReadItem",)}, "dynamodb:ReadItem does not exist"),
        ({"actions": ("dynamodb:Reed*",)}, "dynamodb:Reed* does not exist"),
        ({"actions": ("*",)}, "allows every action"),
        ({"conditions": {"StringEquals": {"dynamodb:LeadingKey": "a"}}}, "has no condition key dynamodb:LeadingKey"),
        ({"conditions": {"StringLike": {"dynamodb:LeadingKeys": "a"}}}, "StringLike does not fit dynamodb:LeadingKeys"),
        ({"conditions": {"ForAnyValue:Bool": {"aws:SecureTransport": "true"}}}, "does not fit aws:SecureTransport"),
        ({"resources": (INDEX,)}, "dynamodb:GetItem has none of the resources"),
        ({"resources": (*GOOD.resources, "arn:aws:sqs:eu-west-1:1:q")}, "has the resource arn:aws:sqs"),
        ({"actions": ("xray:PutTraceSegments",), "conditions": {}}, "takes only *"),
        (
            {"effect": "Deny", "actions": ("*",), "resources": ("arn:aws:events:eu-west-1:1:bus/b",), "conditions": {}},
            "has the resource arn:aws:events",
        ),
    ],
)
def test_a_planted_mistake_is_found(change: dict[str, Any], expected: str) -> None:
    assert findings(GOOD) == []
    assert expected in " ".join(findings(replace(GOOD, **change)))


RESOLVE = """
import sys
from localstack import launcher
from localstack.enforced_iam import KeyedArn, adjust_iam
import ministack.core.iam_evaluator as evaluator
adjust_iam(launcher.with_parameters, launcher.replace_value)
table = KeyedArn.of("arn:aws:dynamodb:us-east-1:000000000000:table/jobs", ["a"])
context = evaluator.EvalContext("arn", "AssumedRole", "000000000000", "dynamodb:GetItem", table, "us-east-1")
for key in sys.argv[1:]:
    if evaluator._resolve_condition_key(key, context) is not None:
        print(key)
"""


def test_the_local_aws_resolves_every_condition_key_of_our_policies_or_says_why_not(
    everything: list[Statement],
) -> None:
    used = {key for statement in everything for keys in statement.conditions.values() for key in keys}
    given = [sys.executable, "-c", RESOLVE, *sorted(used), "aws:UserAgent"]
    resolved = subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert "aws:UserAgent" not in resolved, "a key that nothing resolves is found"
    assert {key.lower() for key in used} == {key.lower() for key in resolved} | set(NOT_EVALUATED)
    assert "dynamodb:LeadingKeys" in resolved


def test_the_policies_of_the_pages_are_as_aws_documents_them_too() -> None:
    blocks = [block for page in PAGES for block in FENCE.findall(text_of(page)) if '"Statement"' in block]
    assert blocks
    for block in blocks:
        for one in json.loads(block.split("\n", 1)[1].rsplit("```", 1)[0])["Statement"]:
            actions, resources = tuple(as_list(one["Action"])), tuple(as_list(one["Resource"]))
            assert findings(Statement("page", one["Effect"], actions, resources, one.get("Condition", {}))) == []
