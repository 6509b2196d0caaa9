"""Batches on DynamoDB: refusals are read many at a time, and no batch begins after the deadline."""

from collections import Counter
from typing import Any

from onthedot.core.ports import Deadline, Moved, Refused, Undecided
from onthedot.core.records import Record
from onthedot.engines.aws.dynamodb.records import to_item
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from tests.builders import VirtualClock, a_run


class Table:
    """A client on a table where these records exist. Each call takes some virtual time."""

    def __init__(self, clock: VirtualClock, records: list[Record], call_seconds: float = 0.0) -> None:
        self.clock = clock
        self.items = {record.run_id: to_item(record) for record in records}
        self.call_seconds = call_seconds
        self.calls: Counter[str] = Counter()
        self.throttled = False
        self.asked: list[str] = []

    def batch_execute_statement(self, Statements: list[Any]) -> dict[str, Any]:  # noqa: N803
        self._called("write")
        refused = {"Error": {"Code": "DuplicateItem", "Message": "there is one"}}
        exists = [any(run_id in str(statement) for run_id in self.items) for statement in Statements]
        return {"Responses": [refused if one else {} for one in exists]}

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        self._called("read")
        self.asked = [key["pk"]["S"] for key in RequestItems["jobs"]["Keys"]]
        if self.throttled:
            return {"Responses": {}, "UnprocessedKeys": RequestItems}
        return {"Responses": {"jobs": list(self.items.values())}, "UnprocessedKeys": {}}

    def _called(self, what: str) -> None:
        self.calls[what] += 1
        self.clock.advance(self.call_seconds)


def a_store(table: Table) -> DynamoRunStore:
    return DynamoRunStore(table, "jobs", table.clock)  # type: ignore[arg-type]


def some_runs(clock: VirtualClock, count: int) -> list[Record]:
    return [a_run(clock).due_in(600).pending().build() for _ in range(count)]


def test_the_records_that_refuse_a_batch_of_inserts_are_read_in_one_call() -> None:
    clock = VirtualClock()
    new, *old = some_runs(clock, 60)
    table = Table(clock, old)

    outcomes = a_store(table).create_many([*old, new], Deadline.after(clock.now(), 10_000))

    assert list(outcomes) == [*(Refused(record) for record in old), Moved(None)]
    assert table.calls == {"write": 3, "read": 1}


def test_a_refusal_whose_record_cannot_be_read_in_time_is_undecided() -> None:
    clock = VirtualClock()
    [old] = some_runs(clock, 1)
    table = Table(clock, [old])
    table.throttled = True

    [outcome] = a_store(table).create_many([old], Deadline.after(clock.now(), 100))

    assert isinstance(outcome, Undecided)


def test_no_batch_begins_after_the_deadline() -> None:
    clock = VirtualClock()
    table = Table(clock, [], call_seconds=1.0)

    outcomes = a_store(table).create_many(some_runs(clock, 100), Deadline.after(clock.now(), 1_500))

    assert [type(outcome) for outcome in outcomes] == [Moved] * 50 + [Undecided] * 50
    assert table.calls["write"] == 2


def test_the_key_of_a_token_is_in_no_batch_because_iam_would_refuse_the_whole_of_it() -> None:
    clock = VirtualClock()
    [run] = some_runs(clock, 1)
    table = Table(clock, [run])

    read = a_store(table).get_many(["tokens", "tokens.x", "token#x", run.run_id], Deadline.after(clock.now(), 10_000))

    assert (table.asked, set(read.found)) == ([run.run_id], {run.run_id})
    assert a_store(table).get("tokens") is None, "without a call"
