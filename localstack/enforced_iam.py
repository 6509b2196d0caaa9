"""IAM checks as AWS makes them, where MiniStack's `AUTH=true` makes them otherwise. They prove the roles' grants.

AWS checks a batch call under the name of the single call, PartiQL by the kind of its statements, and each item of a
transaction by itself. Policies may ask for the partition keys that a request names. The local AWS uses plain HTTP, so
the check must treat it as TLS to pass TLS-only policies. The infra tests assert those policies.
"""

import json
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Final

from localstack.leading_keys import Check, KeyOf, request_keys, statement_checks, transaction_checks

BATCHES: Final = {
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
}
CHECKS: Final = {
    "dynamodb:TransactGetItems": transaction_checks,
    "dynamodb:TransactWriteItems": transaction_checks,
    "dynamodb:ExecuteStatement": statement_checks,
    "dynamodb:BatchExecuteStatement": statement_checks,
    "dynamodb:ExecuteTransaction": statement_checks,
}
"""The calls of DynamoDB that are no IAM actions: IAM checks each of their parts."""
LEADING_KEYS: Final = "dynamodb:leadingkeys"
FIXED: Final = {"aws:securetransport": "true", "s3:tlsversion": "1.3"}
"""Condition keys that have one value here."""
NOT_EVALUATED: Final = {
    "aws:sourceaccount": "asked of AWS services that act for us. MiniStack's services call each other without a check",
    "aws:sourcearn": "as aws:SourceAccount",
    "cloudwatch:namespace": "MiniStack's CloudWatch does not pass the namespace of a metric on. No call there needs it",
}
"""Condition keys of our policies that the local AWS does not resolve, with the reason. A test finds any other one."""


class KeyedArn(str):
    """The ARN of a table, with the partition keys that a request names there. MiniStack carries it to the check."""

    __slots__ = ("leading_keys",)
    leading_keys: tuple[str, ...]

    @classmethod
    def of(cls, arn: str, keys: Iterable[str]) -> "KeyedArn":
        """Return the ARN with these keys."""
        keyed = cls(arn)
        keyed.leading_keys = tuple(keys)
        return keyed


def adjust_iam(with_parameters: Any, replace_value: Any) -> None:
    """Make MiniStack check as AWS does. The launcher passes its checked functions for reading and replacing."""
    actions = import_module("ministack.core.iam_actions")
    evaluator = import_module("ministack.core.iam_evaluator")
    request = ["service", "method", "path", "headers", "body", "query_params"]
    name_of = with_parameters(actions, "extract_iam_action", request)
    value_of = with_parameters(evaluator, "_resolve_condition_key", ["key", "ctx"])

    def extract_iam_action(service: str, method: str, path: str, headers: Any, body: bytes, query_params: Any) -> Any:  # noqa: PLR0917
        action = name_of(service, method, path, headers, body, query_params)
        return BATCHES.get(action, action)

    def resolve_condition_key(key: str, ctx: Any) -> Any:
        if key.lower() == LEADING_KEYS:
            return list(getattr(ctx.resource_arn, "leading_keys", ())) or None
        return FIXED.get(key.lower()) or value_of(key, ctx)

    replace_value(actions, "extract_iam_action", extract_iam_action)
    replace_value(evaluator, "_resolve_condition_key", resolve_condition_key)
    _adjust_dynamodb(actions, with_parameters, replace_value)


def _adjust_dynamodb(actions: Any, with_parameters: Any, replace_value: Any) -> None:
    """Note the partition keys of each request, and check each part of a transaction or a batch of statements."""
    dynamodb = import_module("ministack.services.dynamodb")
    with_parameters(type(dynamodb._tables), "get_scoped", ["self", "account_id", "region", "key", "default"])
    tables_of = with_parameters(actions, "dynamodb_resource_arns", ["body", "region", "account_id"])
    with_parameters(actions, "dynamodb_transaction_checks", ["iam_action", "body", "region", "account_id"])

    def key_reader(region: str, account_id: str) -> KeyOf:
        def key_of(table: str, index: str | None) -> str | None:
            return _partition_key(dynamodb._tables.get_scoped(account_id, region, _table_name(table)), index)

        return key_of

    def dynamodb_resource_arns(body: bytes, region: str, account_id: str) -> list[str]:
        keys = request_keys(_parsed(body), key_reader(region, account_id))
        named: dict[str, tuple[str, ...]] = {}
        for table, values in keys.items():  # a batch may name a table both by its name and by its ARN
            named[_table_name(table)] = (*named.get(_table_name(table), ()), *values)
        return [KeyedArn.of(arn, named.get(_table_name(arn), ())) for arn in tables_of(body, region, account_id)]

    def dynamodb_transaction_checks(iam_action: str, body: bytes, region: str, account_id: str) -> list[Any]:
        if iam_action not in CHECKS:
            return []
        try:
            checks = CHECKS[iam_action](_parsed(body), key_reader(region, account_id))
        except (LookupError, ValueError, TypeError, AttributeError):
            # Nothing is allowed under the name of the whole call, so a malformed one is denied.
            return []
        return [(check.action, KeyedArn.of(_arn(check, region, account_id), check.keys)) for check in checks]

    replace_value(actions, "dynamodb_resource_arns", dynamodb_resource_arns)
    replace_value(actions, "dynamodb_transaction_checks", dynamodb_transaction_checks)


def _parsed(body: bytes) -> Mapping[str, Any]:
    try:
        content = json.loads(body or b"{}")
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _table_name(table: str) -> str:
    """Return the name in the ARN of a table or index. A request may also give the name itself."""
    return table.rpartition(":table/")[2].partition("/")[0]


def _arn(check: Check, region: str, account_id: str) -> str:
    table = f"arn:aws:dynamodb:{region}:{account_id}:table/{_table_name(check.table)}"
    return f"{table}/index/{check.index}" if check.index else table


def _partition_key(table: Any, index: str | None) -> str | None:
    if table is None:
        return None
    schemas = {one["IndexName"]: one["KeySchema"] for one in table.get("GlobalSecondaryIndexes") or []}
    schema = table["KeySchema"] if index is None else schemas.get(index, table["KeySchema"])
    return next((str(part["AttributeName"]) for part in schema if part["KeyType"] == "HASH"), None)
