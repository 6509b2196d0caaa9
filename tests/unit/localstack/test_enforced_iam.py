"""The local AWS checks IAM policies under the names, and with the conditions, of AWS."""

import json
import subprocess
import sys
from typing import Any

import pytest

from localstack.home import ROOT

# MiniStack is adjusted in a process of its own: this one must keep it as it is.
ADJUSTED = """
import json, sys
from localstack import launcher
from localstack.enforced_iam import adjust_iam
import ministack.core.iam_actions as actions
import ministack.core.iam_evaluator as evaluator
import ministack.services.dynamodb as dynamodb
adjust_iam(launcher.with_parameters, launcher.replace_value)
schema = [{"AttributeName": "pk", "KeyType": "HASH"}]
dynamodb._tables.set_scoped("1", "r", "jobs", {"KeySchema": schema})

def allowed(policy, operation, request):
    body, headers = json.dumps(request).encode(), {"x-amz-target": f"DynamoDB_20120810.{operation}"}
    action = actions.extract_iam_action("dynamodb", "POST", "/", headers, body, {})
    one = [(action, arn) for arn in actions.dynamodb_resource_arns(body, "r", "1")] or [(action, "*")]
    checks = actions.dynamodb_transaction_checks(action, body, "r", "1") or one
    statements = [evaluator.parse_policy_document({"Statement": policy})]
    contexts = [evaluator.EvalContext("arn", "AssumedRole", "1", name, arn, "r") for name, arn in checks]
    return all(evaluator.evaluate(context, statements).decision == "Allow" for context in contexts)

for given in json.load(sys.stdin):
    print(json.dumps(allowed(*given)))
"""
TABLE = "arn:aws:dynamodb:r:1:table/jobs"
ALLOW = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": TABLE}
NO_TOKENS = {
    "Effect": "Deny",
    "Action": "dynamodb:*",
    "Resource": TABLE,
    "Condition": {"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": ["token#*"]}},
}
ONLY_TOKENS = {**ALLOW, "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["token#*"]}}}
INSERT = "INSERT INTO \"jobs\" VALUE {'pk':?}"
UPDATE = 'UPDATE "jobs" SET a=1 WHERE "pk"=?'


def requests(key: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Each way to name a key of the table."""
    pk = {"pk": {"S": key}}
    statements = [{"Statement": text, "Parameters": [pk["pk"]]} for text in (INSERT, UPDATE)]
    other = {"Update": {"TableName": "jobs", "Key": {"pk": {"S": "other"}}}}
    values = {":p": pk["pk"]}
    return {
        "get": ("GetItem", {"TableName": "jobs", "Key": pk}),
        "put": ("PutItem", {"TableName": "jobs", "Item": pk}),
        "by ARN": ("GetItem", {"TableName": TABLE, "Key": pk}),
        "query": (
            "Query",
            {"TableName": "jobs", "KeyConditionExpression": "pk=:p", "ExpressionAttributeValues": values},
        ),
        "batch": ("BatchGetItem", {"RequestItems": {"jobs": {"Keys": [{"pk": {"S": "other"}}, pk]}}}),
        "batch by name and ARN": (
            "BatchGetItem",
            {"RequestItems": {"jobs": {"Keys": [pk]}, TABLE: {"Keys": [{"pk": {"S": "other"}}]}}},
        ),
        "transaction": ("TransactWriteItems", {"TransactItems": [other, {"Put": {"TableName": "jobs", "Item": pk}}]}),
        "statement": ("ExecuteStatement", statements[0]),
        "statements": ("BatchExecuteStatement", {"Statements": statements}),
        "statements in a transaction": ("ExecuteTransaction", {"TransactStatements": statements}),
    }


def decisions(*asked: tuple[Any, str, dict[str, Any]]) -> list[bool]:
    done = subprocess.run(
        [sys.executable, "-c", ADJUSTED],
        cwd=ROOT,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_denial_of_keys_holds_for_every_way_to_name_them_and_for_no_other_key() -> None:
    policy = [ALLOW, NO_TOKENS]
    for key, expected in (("token#1", False), ("job#1", True)):
        asked = [(policy, *request) for request in requests(key).values()]
        assert dict(zip(requests(key), decisions(*asked), strict=True)) == dict.fromkeys(requests(key), expected)


def test_a_grant_of_keys_holds_for_these_keys_only() -> None:
    mixed = {"batch", "batch by name and ARN", "transaction"}
    for key, expected in (("token#1", True), ("job#1", False)):
        asked = [([ONLY_TOKENS], *request) for request in requests(key).values()]
        found = dict(zip(requests(key), decisions(*asked), strict=True))
        assert found == {name: expected and name not in mixed for name in found}


def test_a_scan_names_no_key_so_a_condition_on_keys_does_not_stop_it() -> None:
    scan = ("Scan", {"TableName": "jobs"})
    assert decisions(([ONLY_TOKENS], *scan), ([ALLOW, NO_TOKENS], *scan)) == [True, True]


def test_statements_are_allowed_by_their_kinds_each_by_itself() -> None:
    inserting = {**ALLOW, "Action": "dynamodb:PartiQLInsert"}
    both = {**ALLOW, "Action": ["dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"]}
    _, statement = requests("a")["statement"]
    _, statements = requests("a")["statements"]
    asked = [
        ([inserting], "ExecuteStatement", statement),
        ([inserting], "BatchExecuteStatement", statements),
        ([both], "BatchExecuteStatement", statements),
        ([{**ALLOW, "Action": "dynamodb:BatchExecuteStatement"}], "BatchExecuteStatement", statements),
    ]
    assert decisions(*asked) == [True, False, True, False]


@pytest.mark.parametrize(
    "request_", [{}, {"Statements": [{}]}, {"Statements": [{"Statement": "DROP"}]}, {"Statements": 7}]
)
def test_a_malformed_batch_is_denied(request_: dict[str, Any]) -> None:
    assert decisions(([ALLOW], "BatchExecuteStatement", request_)) == [False]


def test_a_batch_of_messages_is_checked_as_its_messages() -> None:
    code = ADJUSTED.split("for given", maxsplit=1)[0] + (
        'headers = {"x-amz-target": "AmazonSQS.SendMessageBatch"}\n'
        'print(actions.extract_iam_action("sqs", "POST", "/", headers, b"{}", {}))'
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "sqs:SendMessage"
