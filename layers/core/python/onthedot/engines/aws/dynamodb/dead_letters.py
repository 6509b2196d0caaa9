"""Pages of the dead-letter index: the partitions of a tenant, merged in the order of time."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onthedot.core.listing import ALWAYS, Window, dead_letter_partitions
from onthedot.core.schema import FAILURES
from onthedot.engines.aws.dynamodb.keys import run_id_of, run_key
from onthedot.engines.aws.errors import translated

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_OVER: Final = "over"
Position = list[Any] | str | None
"""Where a partition goes on: behind a time and a run, at its start (None), or nowhere (`_OVER`)."""


@dataclass(slots=True)
class _Partition:
    position: Position
    entries: Sequence[tuple[int, str]] = ()
    """Time of the end and id of each run."""
    has_more: bool = False
    taken: int = 0

    def take(self) -> bool:
        """Take the next entry. Return whether the entry behind it is known, or there is none."""
        self.position = list(self.entries[self.taken])
        self.taken += 1
        return self.taken < len(self.entries) or not self.has_more

    @property
    def rest(self) -> Position:
        return _OVER if self.taken == len(self.entries) and not self.has_more else self.position


def page_of_failed(
    client: "DynamoDBClient", table: str, tenant: str, limit: int, cursor: str | None, *, window: Window = ALWAYS
) -> tuple[list[str], str | None]:
    """Return the ids of a tenant's failed runs, the latest first, and the cursor of the next page.

    The cursor has a position for each partition: DynamoDB does not define the order of runs that ended at the same
    time, so one position for all could repeat or skip some.
    """
    if window.is_empty:  # DynamoDB refuses a range whose ends are in the wrong order
        return [], None
    names = dead_letter_partitions(tenant)
    positions: list[Position] = json.loads(cursor) if cursor else [None] * len(names)
    partitions = [
        _Partition(_OVER) if position == _OVER else _read(client, table, name, position, limit, window=window)
        for name, position in zip(names, positions, strict=True)
    ]
    run_ids = list(_merged(partitions, limit))
    rest = [partition.rest for partition in partitions]
    return run_ids, None if all(one == _OVER for one in rest) else json.dumps(rest, separators=(",", ":"))


def _merged(partitions: Sequence[_Partition], limit: int) -> Iterator[str]:
    known = [
        ((-at, number, order), run_id)
        for number, partition in enumerate(partitions)
        for order, (at, run_id) in enumerate(partition.entries)
    ]
    for (_, number, _), run_id in sorted(known)[:limit]:
        yield run_id
        if not partitions[number].take():
            return


def _read(
    client: "DynamoDBClient", table: str, partition: str, position: Position, limit: int, *, window: Window
) -> _Partition:
    start: dict[str, Any] = {"ExclusiveStartKey": _start_key(partition, *position)} if position else {}
    with translated("failed"):
        reply = client.query(
            TableName=table,
            IndexName=FAILURES.name,
            KeyConditionExpression="#under = :under AND #ended BETWEEN :since AND :last",
            ExpressionAttributeNames={"#under": FAILURES.partition_key, "#ended": FAILURES.sort_key},
            ExpressionAttributeValues={
                ":under": {"S": partition},
                ":since": {"N": str(window.since)},
                ":last": {"N": str(window.until - 1)},
            },
            ScanIndexForward=False,
            Limit=limit,
            **start,
        )
    entries = [(int(item[FAILURES.sort_key]["N"]), run_id_of(item)) for item in reply["Items"]]
    return _Partition(position, entries, "LastEvaluatedKey" in reply)


def _start_key(partition: str, finished_at: int, run_id: str) -> dict[str, Any]:
    return {
        **run_key(run_id),
        FAILURES.partition_key: {"S": partition},
        FAILURES.sort_key: {"N": str(finished_at)},
    }
