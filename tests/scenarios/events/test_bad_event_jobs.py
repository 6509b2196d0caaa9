"""Event jobs that cannot be read, or whose run cannot be made: the others get their runs, and nothing is forgotten."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline, Moved, Refused, RunStore, Undecided
from onthedot.core.records import Record, Status
from onthedot.events import handle as event_handling
from onthedot.events.bus_events import BadEvent, take_event
from onthedot.events.handle import handle_event
from onthedot.events.ports import PatternEntry
from tests.builders import World, a_world
from tests.scenarios.kits.eventful import ORDERS, Eventful, an_event

NEWER = '{"source":[{"sounds-like":"shop"}]}'
"""A pattern with a filter that only a newer version knows."""
LARGE = {"text": "x" * 2_000, "number": "$.detail.order.number"}


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def shop(world: World) -> Eventful:
    return Eventful(world)


def poison(world: World, table: str, job: Record, pattern: str) -> None:
    change = "content = json_set(content, '$.pattern', ?2)" if table == "items" else "pattern = ?2"
    key = "sort LIKE ?1 || '#%'" if table == "items" else "job_id = ?1"
    with world.database.transaction() as connection:
        connection.execute(f"UPDATE {table} SET {change} WHERE {key}", (job.job_id, pattern))


@pytest.mark.parametrize("pattern", [NEWER, "{", "[]"])
@pytest.mark.parametrize("table", ["items", "runs"])
def test_a_pattern_that_cannot_be_read_stops_no_other_job(
    shop: Eventful, world: World, table: str, pattern: str
) -> None:
    bad, *good = sorted((shop.waiting_job() for _ in range(3)), key=lambda job: job.job_id)
    poison(world, table, bad, pattern)
    handled = shop.tell(an_event())
    assert len(handled.runs) == 2
    assert set(handled.unreadable) == {bad.job_id}
    shop.let_pass(1)
    assert [len(shop.fired(job)) for job in (bad, *good)] == [0, 1, 1]


def test_an_event_whose_job_cannot_be_read_is_put_away_with_the_reason(shop: Eventful, world: World) -> None:
    bad, good = shop.waiting_job(), shop.waiting_job()
    poison(world, "items", bad, NEWER)
    with pytest.raises(BadEvent, match=f"1 jobs have their run, these cannot be read: {bad.job_id}: KeyError"):
        take_event(world.engine, "acme", an_event().document, Deadline.after(world.clock.now(), 20_000))
    assert len(shop.runs_of(good)) == 1


def test_a_run_that_cannot_be_read_stops_no_other_job_of_its_event(
    shop: Eventful, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer version made the run, and the event is delivered again to this one."""
    monkeypatch.setattr(event_handling, "JOBS_AT_ONCE", 1)
    first, *others = sorted((shop.waiting_job() for _ in range(4)), key=lambda job: job.job_id)
    shop.tell(an_event())
    with world.database.transaction() as connection:
        connection.execute("UPDATE runs SET status = 'NEWER' WHERE trigger = 'event' AND job_id = ?", (first.job_id,))
        connection.execute("DELETE FROM runs WHERE trigger = 'event' AND job_id != ?", (first.job_id,))
    handled = shop.tell(an_event())
    assert (len(handled.runs), handled.made) == (4, 3)
    shop.let_pass(1)
    assert [len(shop.fired(job)) for job in others] == [1, 1, 1]


def test_a_run_that_may_be_stored_or_not_delays_only_its_own_job(
    shop: Eventful, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_handling, "JOBS_AT_ONCE", 1)
    first, *others = sorted((shop.waiting_job() for _ in range(3)), key=lambda job: job.job_id)
    engine = replace(world.engine, store=UndecidedFor(world.store, first.job_id))
    with pytest.raises(Unavailable, match=f"the run of {first.job_id} may be stamped or not"):
        handle_event(engine, "acme", an_event(), Deadline.after(world.clock.now(), 20_000))
    assert [len(shop.runs_of(job)) for job in (first, *others)] == [0, 1, 1]


def test_a_job_whose_payload_is_gone_is_skipped_with_the_reason(shop: Eventful, world: World) -> None:
    bad, good = sorted((shop.waiting_job(payload=LARGE) for _ in range(2)), key=lambda job: job.job_id)
    other = shop.waiting_job(payload={**LARGE, "other": True})
    definition = shop.stored(other).definition
    assert definition is not None
    with world.database.transaction() as connection:
        connection.execute("DELETE FROM blobs WHERE key = ?", (definition.payload_ref,))
    shop.tell(an_event())
    shop.let_pass(1)
    (skipped,) = shop.runs_of(other)
    assert (skipped.status, skipped.slot) == (Status.SKIPPED, None)
    assert "is missing" in (skipped.reason or "")
    assert [run.status for job in (bad, good) for run in shop.runs_of(job)] == [Status.SUCCEEDED] * 2


def test_a_payload_that_cannot_be_read_now_delays_only_its_own_job(shop: Eventful, world: World) -> None:
    small, large = shop.waiting_job(), shop.waiting_job(payload=LARGE)
    engine = replace(world.engine, blobs=AwayBlobs())
    with pytest.raises(Unavailable, match="no blobs"):
        handle_event(engine, "acme", an_event(), Deadline.after(world.clock.now(), 20_000))
    assert [len(shop.runs_of(job)) for job in (small, large)] == [1, 0]
    shop.tell(an_event())
    assert [len(shop.runs_of(job)) for job in (small, large)] == [1, 1]


def test_patterns_that_do_not_match_are_looked_at_only_until_the_deadline(shop: Eventful, world: World) -> None:
    job = shop.waiting_job({**ORDERS, "detail": {"order": {"number": [8]}}})
    patterns = SlowPatterns(world, shop.stored(job))
    engine = replace(world.engine, patterns=patterns)  # type: ignore[arg-type]
    with pytest.raises(Unavailable, match="out of time"):
        handle_event(engine, "acme", an_event(), Deadline.after(world.clock.now(), 5_000))
    assert patterns.read <= 51


class AwayBlobs:
    """Blobs of a bucket that cannot be reached."""

    def put(self, key: str, content: bytes) -> None:
        raise Unavailable("no blobs")

    def get(self, key: str) -> bytes | None:
        raise Unavailable("no blobs")

    def link(self, key: str, seconds: int) -> str | None:
        return None


@dataclass
class SlowPatterns:
    """An index with a million entries, each of which takes time."""

    world: World
    job: Record
    read: int = 0

    def matching(self, tenant: str, keys: Sequence[str]) -> Iterator[PatternEntry]:
        for number in range(1_000_000):
            self.read += 1
            self.world.clock.advance(0.1)
            yield PatternEntry(f"job_{number}", "n", self.job.pattern or "", self.world.clock.now())


@dataclass
class UndecidedFor:
    """A store that does not decide about the runs of one job."""

    inner: RunStore
    job_id: str

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        if any(record.job_id == self.job_id for record in records):
            return [Undecided("throttled") for _ in records]
        return self.inner.create_many(records, deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
