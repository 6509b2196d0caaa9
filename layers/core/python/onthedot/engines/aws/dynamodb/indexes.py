"""Pages of the indexes of jobs and of dead letters."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onthedot.core.choices import Priority
from onthedot.core.codec import refuse_newer
from onthedot.core.listing import ALWAYS, JobFacts, Window, dead_letter_partitions, makes_graph
from onthedot.core.ports import ListEntry
from onthedot.core.records import Kind
from onthedot.core.schema import FAILURES, LABEL, LISTING
from onthedot.engines.aws.dynamodb.keys import run_id_of, run_key
from onthedot.engines.aws.dynamodb.moves import from_item
from onthedot.engines.aws.errors import translated
from onthedot.engines.entries import read_label

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


def listed_jobs(
    client: "DynamoDBClient", table: str, partition: str, limit: int, after: tuple[int, str] | None
) -> tuple[list[ListEntry], bool]:
    start: dict[str, Any] = {} if after is None else {"ExclusiveStartKey": _listing_key(partition, *after)}
    with translated("listed"):
        reply = client.query(
            TableName=table,
            IndexName=LISTING.name,
            KeyConditionExpression="#under = :under",
            ExpressionAttributeNames={"#under": LISTING.partition_key},
            ExpressionAttributeValues={":under": {"S": partition}},
            ScanIndexForward=False,
            Limit=limit,
            **start,
        )
    return [_entry(item) for item in reply["Items"]], "LastEvaluatedKey" in reply


def _entry(item: Mapping[str, Any]) -> ListEntry:
    run_id = run_id_of(item)
    return ListEntry(run_id, int(item[LISTING.sort_key]["N"]), _facts(run_id, from_item(item)))


def _facts(run_id: str, item: Mapping[str, Any]) -> JobFacts | None:
    """Return the projected facts. None: an earlier or newer version wrote the job, or its label is too long."""
    try:
        refuse_newer(item)
        name, tags = read_label(item[LABEL])
        workflow = item.get("workflow")
        is_workflow = makes_graph(run_id, workflow)
        return JobFacts(Kind(item["kind"]), Priority(item["priority"]), workflow, name, tags, is_workflow)
    except (KeyError, ValueError, TypeError, AttributeError):
        return None


def _listing_key(partition: str, created_at: int, run_id: str) -> dict[str, Any]:
    return {**run_key(run_id), LISTING.partition_key: {"S": partition}, LISTING.sort_key: {"N": str(created_at)}}
