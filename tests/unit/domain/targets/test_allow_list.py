"""What the jobs of a stage may call: nothing by default, and the same list in every form."""

import pytest

from onthedot.targets.rules import AllowedCall, AllowList, from_json, to_json

ARN = "arn:aws:lambda:eu-central-1:123456789012:function:reports"
ALLOWED = AllowList(
    ("reports", "mail-*", "arn:aws:lambda:eu-central-1:210987654321:function:shared"),
    (AllowedCall("sqs", "SendMessage"), AllowedCall("s3", "ListObjectsV2")),
)


@pytest.mark.parametrize("function", ["reports", "mail-daily", ARN, f"{ARN}:live"])
def test_a_listed_function_is_allowed_by_name_or_arn(function: str) -> None:
    assert ALLOWED.allows_function(function)


@pytest.mark.parametrize(
    "function",
    [
        "reports2",
        "x-reports",
        "mail",
        "shared",
        "arn:aws:lambda:eu-central-1:123456789012:function:other",
        "arn:reports",
        "REPORTS",
    ],
)
def test_any_other_function_is_not(function: str) -> None:
    assert not ALLOWED.allows_function(function)


def test_calls_are_allowed_one_by_one() -> None:
    assert ALLOWED.allows_call("sqs", "SendMessage")
    assert not ALLOWED.allows_call("sqs", "DeleteQueue")
    assert not ALLOWED.allows_call("sns", "SendMessage")


def test_nothing_is_allowed_unless_it_is_said() -> None:
    assert not AllowList().allows_function("anything")
    assert not AllowList().allows_call("sqs", "SendMessage")


def test_the_list_survives_the_environment() -> None:
    assert from_json(to_json(ALLOWED)) == ALLOWED
    assert from_json({}) == AllowList()
