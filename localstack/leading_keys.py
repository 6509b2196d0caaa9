"""The partition keys that a request of DynamoDB names: IAM's `dynamodb:LeadingKeys`.

AWS checks each item of a transaction and each statement of PartiQL as a call of its own. A Scan names no partition key.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
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
    """One thing that a request does: IAM checks it by itself."""

    action: str
    table: str
    index: str | None
    keys: tuple[str, ...]


def request_keys(request: Mapping[str, Any], key_of: KeyOf) -> dict[str, tuple[str, ...]]:
    """Return the partition keys that a request names, by table. A table of which it names none is not there."""
    found: dict[str, tuple[str, ...]] = {}
    if isinstance(table := request.get("TableName"), str):
        found[table] = tuple(_one_table(request, key_of(table, request.get("IndexName"))))
    for table, asked in (request.get("RequestItems") or {}).items():
        found[table] = tuple(_values(_batch(asked), key_of(table, None)))
    return {table: keys for table, keys in found.items() if keys}


def transaction_checks(request: Mapping[str, Any], key_of: KeyOf) -> list[Check]:
    """Return the checks of a transaction's items."""
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
    """Yield the partition key of a Query."""
    names, values = request.get("ExpressionAttributeNames") or {}, request.get("ExpressionAttributeValues") or {}
    for name, value in _EQUALS.findall(request.get("KeyConditionExpression") or ""):
        if names.get(name, name) == key and value in values:
            yield _text(values[value])
    legacy = (request.get("KeyConditions") or {}).get(key) or {}
    yield from map(_text, legacy.get("AttributeValueList", []))


def _batch(asked: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the keys and items of one table in a batch."""
    if isinstance(asked, dict):
        yield from asked.get("Keys", [])
        return
    for write in asked:
        yield (write.get("PutRequest") or {}).get("Item") or (write.get("DeleteRequest") or {}).get("Key") or {}


def _values(items: Iterable[Mapping[str, Any]], key: str | None) -> Iterator[str]:
    return (_text(item[key]) for item in items if key is not None and key in item)


def _text(attribute: Mapping[str, Any]) -> str:
    """Return the text of `{"S": …}`, `{"N": …}` or `{"B": …}`."""
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
    # The values of an INSERT, or the condition of the others. What an UPDATE sets is no key.
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
