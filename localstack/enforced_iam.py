"""IAM checks as AWS makes them, where MiniStack's `AUTH=true` makes them otherwise. They prove the roles' grants.

AWS checks a batch call under the name of the single call, PartiQL by the kind of its statements, and each item of a
transaction separately. Policies may ask for the partition keys that a request names. The local AWS uses plain HTTP, so
the check must treat it as TLS to pass TLS-only policies. The infra tests assert those policies.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

KeyOf = Callable[[str, str | None], str | None]
"""Returns the name of the partition key of a table, or of one of its indexes. None if there is no such table."""
ITEM_ACTIONS: Final = {
    "ConditionCheck": "dynamodb:ConditionCheckItem",
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "Get": "dynamodb:GetItem",
}
STATEMENT_ACTIONS: Final = {
    "INSERT": "dynamodb:PartiQLInsert",
    "UPDATE": "dynamodb:PartiQLUpdate",
    "DELETE": "dynamodb:PartiQLDelete",
    "SELECT": "dynamodb:PartiQLSelect",
}
_NAME: Final = r"[#\w.-]+"
_EQUALS: Final = re.compile(rf"({_NAME})\s*=\s*(:\w+)")
# Texts, names in quotes, words, and single characters.
_TOKEN: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[\w-]+|\S""")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that a request does: IAM checks it separately."""

    action: str
    table: str
    index: str | None
    keys: tuple[str, ...]


def request_keys(request: Mapping[str, Any], key_of: KeyOf) -> dict[str, tuple[str, ...]]:
    """Return the partition keys that a request names, by table. A table without one, as in a Scan, is left out."""
    found: dict[str, tuple[str, ...]] = {}
    if isinstance(table := request.get("TableName"), str):
        found[table] = tuple(_one_table(request, key_of(table, request.get("IndexName"))))
    for table, asked in (request.get("RequestItems") or {}).items():
        found[table] = tuple(_values(_batch(asked), key_of(table, None)))
    return {table: keys for table, keys in found.items() if keys}


def transaction_checks(request: Mapping[str, Any], key_of: KeyOf) -> list[Check]:
    return [
        Check(ITEM_ACTIONS[kind], one["TableName"], None, tuple(_one_table(one, key_of(one["TableName"], None))))
        for item in request.get("TransactItems", [])
        for kind, one in item.items()
    ]


def statement_checks(request: Mapping[str, Any], key_of: KeyOf) -> list[Check]:
    """Return the checks of the statements of PartiQL: one, a batch or a transaction. Raise ValueError for others."""
    statements = request.get("Statements") or request.get("TransactStatements") or [request]
    return [_statement(one["Statement"], one.get("Parameters") or [], key_of) for one in statements]


def _one_table(request: Mapping[str, Any], key: str | None) -> Iterator[str]:
    yield from _values((request.get(part) or {} for part in ("Key", "Item")), key)
    yield from _conditions(request, key)


def _conditions(request: Mapping[str, Any], key: str | None) -> Iterator[str]:
    names, values = request.get("ExpressionAttributeNames") or {}, request.get("ExpressionAttributeValues") or {}
    for name, value in _EQUALS.findall(request.get("KeyConditionExpression") or ""):
        if names.get(name, name) == key and value in values:
            yield _text(values[value])
    legacy = (request.get("KeyConditions") or {}).get(key) or {}
    yield from map(_text, legacy.get("AttributeValueList", []))


def _batch(asked: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(asked, dict):
        yield from asked.get("Keys", [])
        return
    for write in asked:
        yield (write.get("PutRequest") or {}).get("Item") or (write.get("DeleteRequest") or {}).get("Key") or {}


def _values(items: Iterable[Mapping[str, Any]], key: str | None) -> Iterator[str]:
    return (_text(item[key]) for item in items if key is not None and key in item)


def _text(attribute: Mapping[str, Any]) -> str:
    return str(next(iter(attribute.values())))


def _statement(statement: str, parameters: list[Any], key_of: KeyOf) -> Check:
    tokens = _TOKEN.findall(statement)
    words = [token.upper() for token in tokens]
    kind = words[0] if words else ""
    before = {"INSERT": "INTO", "UPDATE": "UPDATE", "DELETE": "FROM", "SELECT": "FROM"}.get(kind, "")
    if before not in words:
        raise ValueError(f"no statement of PartiQL: {statement[:80]}")
    place = words.index(before) + 1
    table, index = _unquoted(tokens[place]), None
    if tokens[place + 1 : place + 2] == ["."]:
        index = _unquoted(tokens[place + 2])
    # The values of an INSERT, or the condition of the others. What an UPDATE sets is not a key.
    first = words.index("VALUE") if kind == "INSERT" else words.index("WHERE") if "WHERE" in words else len(words)
    key = key_of(table, index)
    keys = tuple(_compared(tokens, first, parameters, key))
    # A write names its key. One whose key is not found here must not pass as a request without keys.
    if kind != "SELECT" and key is not None and not keys:
        raise ValueError(f"a statement without a partition key: {statement[:80]}")
    return Check(STATEMENT_ACTIONS[kind], table, index, keys)


def _compared(tokens: list[str], first: int, parameters: list[Any], key: str | None) -> Iterator[str]:
    """Yield every value with which the key is compared by `=`, `:` or `IN`."""
    given = iter(parameters)
    values = [_text(next(given, {"S": ""})) if part == "?" else _literal(part) for part in tokens]
    for place in range(first, len(tokens) - 2):
        if _unquoted(tokens[place], "'\"") != key:
            continue
        if tokens[place + 1] in ("=", ":"):
            yield values[place + 2] or ""
        elif tokens[place + 1].upper() == "IN":
            end = next((n for n in range(place, len(tokens)) if tokens[n] in ("]", ")")), len(tokens))
            yield from (value for value in values[place + 3 : end] if value is not None)


def _literal(token: str) -> str | None:
    """Return the content of a text or a number, or None for other tokens."""
    if token.startswith("'"):
        return token[1:-1].replace("''", "'")
    return token if token.isdigit() else None


def _unquoted(token: str, quotes: str = '"') -> str:
    return token[1:-1] if token[0] in quotes and len(token) > 1 else token


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
"""The calls of DynamoDB that are not IAM actions: IAM checks each of their parts."""
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
