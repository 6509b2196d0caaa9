"""Count the requests of a tick to AWS, and its read and write units, indexes included."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from localstack.write_units import computed_units
from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.records import Record
from onthedot.engines.aws.dynamodb.keys import run_key
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.ports import Clock, Deadline, Moved, Refused, Undecided

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_READS: Final = frozenset({"Query", "GetItem", "BatchGetItem"})
_WRITES: Final = frozenset({"PutItem", "UpdateItem"})

Outcomes = Sequence[Moved | Refused | Undecided]


@dataclass
class Spent:
    """The requests and units that clients have used.

    The units of PartiQL come from `MeasuringStore`, because MiniStack reports 1 for any statement.
    """

    requests: Counter[str] = field(default_factory=Counter)
    """By operation."""
    read_units: float = 0.0
    write_units: float = 0.0

    def count_request(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.requests[model.name] += 1
        if model.name in _READS | _WRITES:
            params["ReturnConsumedCapacity"] = "INDEXES"

    def count_units(self, parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
        reported = parsed.get("ConsumedCapacity", [])
        units = sum(_units(each) for each in ([reported] if isinstance(reported, Mapping) else reported))
        if model.name in _READS:
            self.read_units += units
        elif model.name in _WRITES:
            self.write_units += units


def _units(consumed: Mapping[str, Any]) -> float:
    indexes = consumed.get("GlobalSecondaryIndexes", {}).values()
    return float(consumed["Table"]["CapacityUnits"]) + sum(float(index["CapacityUnits"]) for index in indexes)


@contextmanager
def spending(*clients: Any) -> Iterator[Spent]:
    """Count the requests of these clients while this context lasts."""
    spent = Spent()
    for client in clients:
        client.meta.events.register("provide-client-params.*.*", spent.count_request, unique_id="request")
        client.meta.events.register("after-call.*.*", spent.count_units, unique_id="units")
    try:
        yield spent
    finally:
        for client in clients:
            client.meta.events.unregister("provide-client-params.*.*", unique_id="request")
            client.meta.events.unregister("after-call.*.*", unique_id="units")


class MeasuringStore(DynamoRunStore):
    """A store that also sums up the write units of its batches.

    It computes them from each item before and after, which it reads by another client.
    """

    def __init__(self, client: "DynamoDBClient", table: str, clock: Clock, observer: "DynamoDBClient") -> None:
        super().__init__(client, table, clock)
        self._observed = table
        self._observer = observer
        self.batch_units = 0.0

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Outcomes:
        outcomes = super().create_many(records, deadline)
        self.batch_units += sum(computed_units(None, self._item(record.run_id)) for record in records)
        return outcomes

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Outcomes:
        before = [self._item(move.run_id) for move in moves]
        outcomes = super().move_many(moves, deadline)
        after = [self._item(move.run_id) for move in moves]
        self.batch_units += sum(computed_units(old, new) for old, new in zip(before, after, strict=True))
        return outcomes

    def _item(self, run_id: str) -> Any:
        key = run_key(run_id)
        return self._observer.get_item(TableName=self._observed, Key=key, ConsistentRead=True).get("Item")
