"""Counters of ended runs as items of the table: one for each tenant and minute, with numbers for each priority.

An item also has, for each shard of the stream, the position of the last change that is counted in it. Lambda delivers
the changes of a shard in order, and sometimes more than once. A change that is not behind the position was counted.
"""

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import Priority
from onthedot.domain.statistics.counters import MAX_MS, STORED, Counters, from_stored
from onthedot.domain.statistics.ends import MINUTE_MS, summed
from onthedot.domain.statistics.steps import KEPT_DAYS, MinuteCounters
from onthedot.engines.aws.dynamodb.keys import minute_of, minute_sort, statistics_key, statistics_partition
from onthedot.engines.aws.errors import error_code, translated
from onthedot.ports import PlacedEnd
from onthedot.schema import PARTITION_KEY, SORT_KEY, TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_LOG: Final = logging.getLogger(__name__)
_TRIES: Final = 6
_POSITION_DIGITS: Final = 40
"""Most digits of a sequence number of a stream. With zeros before it, texts compare as numbers do."""
_KEPT_SECONDS: Final = KEPT_DAYS * 86_400

Item = Mapping[str, Any]


class DynamoStatisticsStore:
    """A `StatisticsStore` that reads by one query, page by page, eventually consistently: for half the price."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def read(self, tenant: str, first: int, end: int) -> Sequence[MinuteCounters]:
        return [found for item in self._items(tenant, first, end) for found in _counters(item)]

    def _items(self, tenant: str, first: int, end: int) -> Iterator[Item]:
        values = {":pk": statistics_partition(tenant), ":first": minute_sort(first), ":last": minute_sort(end - 1)}
        start: dict[str, Any] = {}
        while True:
            with translated("read statistics"):
                reply = self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="#pk = :pk AND #sk BETWEEN :first AND :last",
                    ExpressionAttributeNames={"#pk": PARTITION_KEY, "#sk": SORT_KEY},
                    ExpressionAttributeValues={name: {"S": text} for name, text in values.items()},
                    **start,
                )
            yield from reply["Items"]
            if "LastEvaluatedKey" not in reply:
                return
            start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}


class DynamoStatisticsWriter:
    """A `StatisticsWriter` with one conditional UpdateItem for all ends of a tenant and minute."""

    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def add(self, shard: str, ends: Sequence[PlacedEnd]) -> None:
        left, at = list(ends), _position_name(shard)
        most: Mapping[str, int] = {}
        for _ in range(_TRIES):
            if not left:
                return
            found = self._try(at, left, most)
            if found is None:
                return
            seen = int(found.get(at, {}).get("S", "-1"))
            left = [one for one in left if one.position > seen]
            most = {name: int(value["N"]) for name, value in found.items() if name.endswith(MAX_MS)}
        raise Unavailable("statistics: too many writers of one minute")

    def _try(self, at: str, ends: Sequence[PlacedEnd], known: Mapping[str, int]) -> Item | None:
        """Count the ends. Return the item as it is if it refuses them, because it has counted some or a larger maximum.

        `known` has the maxima of the item: a smaller one is not written.
        """
        first = ends[0].ended
        key = statistics_key(first.tenant, first.minute)
        update = _Update(at, ends, known, first.minute * MINUTE_MS // 1000 + _KEPT_SECONDS)
        try:
            with translated("count ends"):
                self._client.update_item(
                    TableName=self._table,
                    Key=key,
                    UpdateExpression=update.expression,
                    ConditionExpression=update.condition,
                    ExpressionAttributeNames=update.names,
                    ExpressionAttributeValues=update.values,
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            item: Item = error.response.get("Item", {})  # type: ignore[assignment]
            return item
        return None


class _Update:
    """The UpdateItem for ends of one minute: sums, the larger maxima, the position, and the time of its expiry."""

    def __init__(self, at: str, ends: Sequence[PlacedEnd], known: Mapping[str, int], expires_at: int) -> None:
        self.names: dict[str, str] = {"#at": at, "#expiry": TTL_ATTRIBUTE}
        self.values: dict[str, Any] = {
            ":first": {"S": _position_text(ends[0].position)},
            ":last": {"S": _position_text(ends[-1].position)},
            ":expiry": {"N": str(expires_at)},
        }
        sums: list[str] = []
        sets = ["#at = :last", "#expiry = :expiry"]
        conditions = ["(attribute_not_exists(#at) OR #at < :first)"]
        for priority in sorted({one.ended.priority for one in ends}):
            numbers, most = summed(one.ended for one in ends if one.ended.priority is priority)
            sums += [self._named(_attribute(priority, name), number) for name, number in sorted(numbers.items())]
            name = _attribute(priority, MAX_MS)
            if most is not None and most > known.get(name, -1):
                place, value = self._named(name, most).split(" ")
                sets.append(f"{place} = {value}")
                conditions.append(f"(attribute_not_exists({place}) OR {place} < {value})")
        self.expression = f"SET {', '.join(sets)} ADD {', '.join(sums)}"
        self.condition = " AND ".join(conditions)

    def _named(self, name: str, number: int) -> str:
        """Return the placeholders of an attribute and a number."""
        place = len(self.names)
        self.names[f"#n{place}"] = name
        self.values[f":n{place}"] = {"N": str(number)}
        return f"#n{place} :n{place}"


def _counters(item: Item) -> Iterator[MinuteCounters]:
    try:
        found = [(priority, _of_priority(item, priority)) for priority in Priority]
        minute = minute_of(item)
    except (KeyError, ValueError, TypeError) as error:
        # One damaged minute must not hide the others.
        _LOG.error("statistics_unreadable", extra={"item": str(item.get(SORT_KEY)), "why": repr(error)})
        return
    yield from (MinuteCounters(minute, priority, counters) for priority, counters in found if counters is not None)


def _of_priority(item: Item, priority: Priority) -> Counters | None:
    names = {name: _attribute(priority, name) for name in (*STORED, MAX_MS)}
    stored = {name: int(item[attribute]["N"]) for name, attribute in names.items() if attribute in item}
    return from_stored(stored) if stored else None


def _attribute(priority: Priority, name: str) -> str:
    """Return a short name: it counts to the size of the item in each write."""
    return f"{priority.value[0]}_{name}"


def _position_name(shard: str) -> str:
    """Return the attribute with the position of a shard. A hash is shorter than the id of the shard."""
    return f"at_{hashlib.sha256(shard.encode()).hexdigest()[:8]}"


def _position_text(position: int) -> str:
    return f"{position:0{_POSITION_DIGITS}d}"
