"""Write units as DynamoDB bills them: read from ConsumedCapacity, and computed where MiniStack reports none."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from botocore.exceptions import ClientError

from onthedot.core import schema
from onthedot.engines.aws.errors import ErrorReply

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Item = Mapping[str, Any] | None
_REFUSED = "ConditionalCheckFailedException"


@contextmanager
def counted_units(client: "DynamoDBClient") -> Iterator[list[float]]:
    """Yield a list that gets the units of every PutItem and UpdateItem of this client, with the indexes' share.

    A write that its condition refuses costs as much as the item that is there.
    """
    units: list[float] = []

    def counting(write: Callable[..., Any]) -> Callable[..., Any]:
        def counted(**arguments: Any) -> Any:
            try:
                reply = write(**arguments, ReturnConsumedCapacity="INDEXES")
            except (ClientError, ErrorReply) as error:
                response: Any = error.response
                if response["Error"]["Code"] == _REFUSED:
                    units.append(max(_units(response.get("Item")), 1))
                raise
            consumed = reply["ConsumedCapacity"]
            indexes = consumed.get("GlobalSecondaryIndexes", {}).values()
            units.append(consumed["Table"]["CapacityUnits"] + sum(index["CapacityUnits"] for index in indexes))
            return reply

        return counted

    with patch.multiple(client, put_item=counting(client.put_item), update_item=counting(client.update_item)):
        yield units


def computed_units(before: Item, after: Item) -> int:
    """Return the cost of a write from one item to the other: the share of the table and of each index."""
    return max(_units(before), _units(after)) + sum(_index_units(index, before, after) for index in schema.INDEXES)


def _index_units(index: schema.Index, before: Item, after: Item) -> int:
    old, new = _projected(index, before), _projected(index, after)
    if old == new:
        return 0
    same_key = old and new and all(old[key] == new[key] for key in (index.partition_key, index.sort_key))
    return max(_units(old), _units(new)) if same_key else _units(old) + _units(new)


def _projected(index: schema.Index, item: Item) -> Item:
    if item is None or index.partition_key not in item or index.sort_key not in item:
        return None
    keys = {schema.PARTITION_KEY, schema.SORT_KEY, index.partition_key, index.sort_key, *index.included}
    return {name: value for name, value in item.items() if name in keys}


def _units(item: Item) -> int:
    return 0 if not item else -(-_size(item) // 1024)


def _size(item: Mapping[str, Any]) -> int:
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(attribute: Mapping[str, Any]) -> int:
    ((kind, value),) = attribute.items()
    if kind == "SS":
        return sum(len(text.encode()) for text in value)
    return len(value) // 2 + 2 if kind == "N" else len(value.encode())
