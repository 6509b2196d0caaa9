"""Translation of a `Move` to DynamoDB: to an update expression, and to a PartiQL statement for batches.

Many plain words are reserved in DynamoDB, so every attribute is a placeholder or is quoted.
"""

from collections.abc import Mapping
from typing import Any

from onthedot.core.codec import Stored, encode_field, stored_name
from onthedot.core.moves import Move
from onthedot.core.records import Status
from onthedot.core.schema import LABEL, PARTITION_KEY, SORT_KEY
from onthedot.engines.aws.dynamodb.keys import run_key
from onthedot.engines.entries import label_of

Attribute = dict[str, Any]


def to_attribute(value: Stored) -> Attribute:
    if isinstance(value, frozenset):
        return {"SS": sorted(value)}
    return {"S": value} if isinstance(value, str) else {"N": str(int(value))}


def from_item(item: Mapping[str, Attribute]) -> dict[str, Any]:
    """Return the plain values of an item. Numbers stay text, which the codec turns into integers.

    A null is not a value. No version writes one.
    """
    return {name: next(iter(attribute.values())) for name, attribute in item.items() if "NULL" not in attribute}


def _attribute(field: str, value: Any) -> Attribute:
    return to_attribute(encode_field(field, value))


def _written(move: Move) -> dict[str, Any]:
    return {"status": move.to, **{f: v for f, v in _changes(move).items() if v is not None}}


def _removed(move: Move) -> list[str]:
    return [field for field, value in _changes(move).items() if value is None]


def _changes(move: Move) -> Mapping[str, Any]:
    """Return the changes, with the label that the listing index shows for a new definition."""
    definition = move.changes.get("definition")
    return move.changes if definition is None else {**move.changes, LABEL: label_of(definition)}


def update_item_arguments(move: Move) -> dict[str, Any]:
    names: dict[str, str] = {}
    values: dict[str, Attribute] = {}

    def name(field: str) -> str:
        names[f"#{field}"] = stored_name(field)
        return f"#{field}"

    def value(prefix: str, field: str, content: Any) -> str:
        values[f":{prefix}_{field}"] = _attribute(field, content)
        return f":{prefix}_{field}"

    sets = [f"{name(f)} = {value('to', f, v)}" for f, v in _written(move).items()]
    clauses = {
        "SET": sets,
        "REMOVE": [name(f) for f in _removed(move)],
        # ADD starts a missing counter at zero. DELETE ignores values that are not in the set.
        "ADD": [f"{name(f)} {value('add', f, n)}" for f, n in {**move.counts, **move.adds}.items()],
        "DELETE": [f"{name(f)} {value('del', f, gone)}" for f, gone in move.removes.items()],
    }
    return {
        "Key": run_key(move.run_id),
        "UpdateExpression": " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses.items() if parts),
        "ConditionExpression": _condition(move, name, value),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
    }


def _condition(move: Move, name: Any, value: Any) -> str:
    expect = move.expect
    statuses = sorted(expect.status)
    for number, status in enumerate(statuses):
        value(f"is{number}", "status", status)
    tests = [f"{name('status')} IN ({', '.join(f':is{n}_status' for n in range(len(statuses)))})"]
    for field, content in expect.equals.items():
        test = "attribute_not_exists({0})" if content is None else f"{{0}} = {value('is', field, content)}"
        tests.append(test.format(name(field)))
    tests += [f"{name(f)} <= {value('max', f, bound)}" for f, bound in expect.at_most.items()]
    tests.append(f"attribute_not_exists({name('format')})")
    return " AND ".join(tests)


def partiql_statement(move: Move, table: str) -> dict[str, Any]:
    """Return one entry of `BatchExecuteStatement`. If DynamoDB refuses it, the reply contains the current item."""
    if move.adds or move.removes:
        raise ValueError("sets are changed one move at a time")
    parameters: list[Attribute] = []

    def parameter(field: str, content: Any) -> str:
        parameters.append(_attribute(field, content))
        return "?"

    text = [f'UPDATE "{table}"']
    text += [f'SET "{stored_name(f)}"={parameter(f, v)}' for f, v in _written(move).items()]
    text += [f'SET "{stored_name(f)}"="{stored_name(f)}"+{parameter(f, n)}' for f, n in move.counts.items()]
    text += [f'REMOVE "{stored_name(f)}"' for f in _removed(move)]
    item = run_key(move.run_id)
    parameters += [item[PARTITION_KEY], item[SORT_KEY]]
    tests = [f'"{PARTITION_KEY}"=?', f'"{SORT_KEY}"=?', _partiql_status(move.expect.status, parameter)]
    for field, content in move.expect.equals.items():
        key = stored_name(field)
        tests.append(f'"{key}" IS MISSING' if content is None else f'"{key}"={parameter(field, content)}')
    tests += [f'"{stored_name(f)}"<={parameter(f, bound)}' for f, bound in move.expect.at_most.items()]
    # No OR here: MiniStack would not find the key in the condition. Amazon's DynamoDB Local accepts it.
    tests.append('"format" IS MISSING')
    return {
        "Statement": " ".join(text) + " WHERE " + " AND ".join(tests),
        "Parameters": parameters,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def insert_statement(item: Mapping[str, Attribute], table: str) -> dict[str, Any]:
    """Return an entry of `BatchExecuteStatement` that puts the item if its key is free, else fails: DuplicateItem."""
    fields = ",".join(f"'{name}':?" for name in item)
    return {"Statement": f'INSERT INTO "{table}" VALUE {{{fields}}}', "Parameters": list(item.values())}


def _partiql_status(statuses: frozenset[Status], parameter: Any) -> str:
    placeholders = [parameter("status", status) for status in sorted(statuses)]
    return f'"status" IN [{",".join(placeholders)}]' if len(placeholders) > 1 else '"status"=?'
