"""The partition keys that a request names are those of DynamoDB's `dynamodb:LeadingKeys`."""

from typing import Any

import pytest

from localstack.enforced_iam import Check, request_keys, statement_checks


def key_of(table: str, index: str | None) -> str | None:
    """The table `jobs` with an index, and no other."""
    return {("jobs", None): "pk", ("jobs", "due"): "slot"}.get((table, index))


ITEM = {"pk": {"S": "token#1"}, "sk": {"S": "-"}}
# `test_enforced_iam.py` has the usual ways to name a key.
PRESENT: dict[str, dict[str, Any]] = {
    "items of a batch": {"RequestItems": {"jobs": [{"PutRequest": {"Item": ITEM}}]}},
    "deletions of a batch": {"RequestItems": {"jobs": [{"DeleteRequest": {"Key": ITEM}}]}},
    "a query by another name": {
        "TableName": "jobs",
        "KeyConditionExpression": "#sort=:s and #key=:p",
        "ExpressionAttributeNames": {"#key": "pk", "#sort": "sk"},
        "ExpressionAttributeValues": {":p": {"S": "token#1"}, ":s": {"S": "x"}},
    },
    "a query as of old": {
        "TableName": "jobs",
        "KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "token#1"}]}},
    },
    "a query of an index": {
        "TableName": "jobs",
        "IndexName": "due",
        "KeyConditionExpression": "slot = :p",
        "ExpressionAttributeValues": {":p": {"S": "token#1"}},
    },
}


@pytest.mark.parametrize("request_", PRESENT.values(), ids=PRESENT)
def test_a_request_names_its_key(request_: dict[str, Any]) -> None:
    assert request_keys(request_, key_of) == {"jobs": ("token#1",)}


@pytest.mark.parametrize(
    "request_",
    [
        {"TableName": "jobs"},
        {
            "TableName": "jobs",
            "FilterExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": "token#1"}},
        },
        {"TableName": "unknown", "Key": ITEM},
        {},
    ],
    ids=["a scan", "a scan with a filter", "an unknown table", "nothing"],
)
def test_a_request_without_a_key_names_none(request_: dict[str, Any]) -> None:
    assert request_keys(request_, key_of) == {}


TOKEN, OTHER = {"S": "token#1"}, {"S": "other"}


@pytest.mark.parametrize(
    ("statement", "parameters", "action"),
    [
        ("INSERT INTO \"jobs\" VALUE {'sk':?,'pk':?}", [OTHER, TOKEN], "Insert"),
        ("insert into jobs value {'pk': 'token#1'}", [], "Insert"),
        ('UPDATE "jobs" SET "pk?"=? REMOVE "a" WHERE "pk"=? AND "sk"=?', [OTHER, TOKEN, OTHER], "Update"),
        ('UPDATE "jobs" SET "note"=\'what?\' SET a=? WHERE "pk"=?', [OTHER, TOKEN], "Update"),
        ("DELETE FROM jobs WHERE pk='token#1' AND sk=?", [OTHER], "Delete"),
        ('SELECT * FROM "jobs" WHERE "pk" IN [?]', [TOKEN], "Select"),
        ("SELECT pk FROM jobs WHERE sk=? AND pk = ?", [OTHER, TOKEN], "Select"),
    ],
)
def test_a_statement_is_checked_by_its_kind_with_its_key(statement: str, parameters: list[Any], action: str) -> None:
    request = {"Statement": statement, "Parameters": parameters}
    expected = [Check(f"dynamodb:PartiQL{action}", "jobs", None, ("token#1",))]
    assert statement_checks(request, key_of) == expected
    assert statement_checks({"Statements": [request]}, key_of) == expected
    assert statement_checks({"TransactStatements": [request]}, key_of) == expected


def test_every_key_of_a_statement_counts_and_those_of_an_index_too() -> None:
    both = {"Statement": "SELECT * FROM jobs WHERE pk='a' OR pk IN ('b', ?)", "Parameters": [TOKEN]}
    of_index = {"Statement": 'SELECT * FROM "jobs"."due" WHERE slot=?', "Parameters": [OTHER]}
    scan = {"Statement": 'SELECT * FROM "jobs"'}
    assert [check.keys for check in statement_checks({"Statements": [both, of_index, scan]}, key_of)] == [
        ("a", "b", "token#1"),
        ("other",),
        (),
    ]


@pytest.mark.parametrize("statement", ["", "DROP TABLE jobs", "UPDATE", "UPDATE jobs SET a=1 WHERE 'token#1'=pk"])
def test_another_statement_is_refused(statement: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        statement_checks({"Statement": statement}, key_of)
