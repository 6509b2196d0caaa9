"""What a tick asks of AWS, counted on its clients: requests, and read and write units with the indexes' share."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.records import Record
from onthedot.engines.aws.dynamodb.keys import run_key
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.ports import Clock, Deadline, Moved, Refused, Undecided
from tests.contract.kits.write_units import computed_units

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

_READS: Final = frozenset({"Query", "GetItem", "BatchGetItem"})
_WRITES: Final = frozenset({"PutItem", "UpdateItem"})

Outcomes = Sequence[Moved | Refused | Undecided]


@dataclass
class Spent:
    """`requests` by operation. PartiQL's units come from `MeasuringStore`, since MiniStack says 1 for any."""

    requests: Counter[str] = field(default_factory=Counter)
    read_units: float = 0.0
    write_units: float = 0.0

    def ask(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.requests[model.name] += 1
        if model.name in _READS | _WRITES:
            params["ReturnConsumedCapacity"] = "INDEXES"

    def note(self, parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
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
    """Counts what these clients ask for, while it lasts."""
    spent = Spent()
    for client in clients:
        client.meta.events.register("provide-client-params.*.*", spent.ask, unique_id="ask")
        client.meta.events.register("after-call.*.*", spent.note, unique_id="note")
    try:
        yield spent
    finally:
        for client in clients:
            client.meta.events.unregister("provide-client-params.*.*", unique_id="ask")
            client.meta.events.unregister("after-call.*.*", unique_id="note")


class MeasuringStore(DynamoRunStore):
    """Also sums up the write units of its batches, from each item before and after; reads those by another client."""

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
