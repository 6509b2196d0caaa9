"""Loops over a tenant's data: each looks at the deadline, and an answer has a bound."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.errors import InvalidRequest, Unavailable
from onthedot.core.ids import stamped_run_id
from onthedot.core.listing import failed_under
from onthedot.core.ports import Deadline, RunStore
from onthedot.core.records import Definition, Kind, Record, Status
from onthedot.events.ports import PatternEntry
from onthedot.jobs import redrive as redrive_module
from onthedot.jobs.causes import FailureFilter
from onthedot.jobs.redrive import redrive_matching
from onthedot.jobs.submit import JobRequest, accept_batch, submit_batch
from onthedot.statistics import forecast as expected
from onthedot.statistics.forecast import forecast
from onthedot.targets.types import HttpTarget
from tests.builders import NOON, World, a_run
from tests.unit.api.kit import Api

TWO_DAYS_MS = 2 * 86_400_000
REQUEST = JobRequest(
    definition=Definition(HttpTarget("http://127.0.0.1:9/")), fingerprint="body", priority=Priority.MEDIUM
)


def test_a_redrive_of_all_goes_past_what_it_refuses_and_names_a_bounded_number(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrive_module, "MOST_AT_ONCE", 5)
    monkeypatch.setattr(redrive_module, "PAGE", 4)
    job_id = Api(world).job(cron="0 0 1 1 *")
    dead = a_run(world.clock).dispatched().build()
    for number in range(12):  # of a time that the schedule does not have
        ended_at = NOON + 60_000 + number
        run = replace(dead, run_id=stamped_run_id(job_id, NOON + number), job_id=job_id, finished_at=ended_at)
        world.store.create(as_dead_letter(run, stamped=True))
    world.store.create(as_dead_letter(replace(dead, finished_at=NOON)))
    world.clock.advance(120)
    result = redrive_matching(world.engine, "acme", FailureFilter())
    assert [run.run_id for run in result.runs] == [dead.run_id], "the oldest one is reached"
    assert len(result.refused) == 5


def as_dead_letter(run: Record, *, stamped: bool = False) -> Record:

    ended = replace(run, status=Status.FAILED, slot=None, failed_under=failed_under("acme", run.run_id), tenant="acme")
    return replace(ended, kind=Kind.STAMPED, definition=None) if stamped else ended


def test_a_forecast_counts_schedules_only_until_its_deadline(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        Api(world).job(every=60 + number)
    counted: list[Any] = []

    def slowly(*arguments: Any) -> dict[int, int]:
        counted.append(arguments)
        world.clock.advance(10)
        return {}

    monkeypatch.setattr(expected, "fires_per_minute", slowly)
    assert forecast(world.engine, "acme", 15).truncated is True
    assert len(counted) == 2


def test_a_batch_looks_for_the_earlier_answers_with_one_read(world: World) -> None:
    keyed = [replace(REQUEST, at=NOON, idempotency_key=f"k{number}") for number in range(40)]
    first = accept_batch(world.engine, "acme", keyed[:20], NOON)
    store = CountingStore(world.store)
    engine = replace(world.engine, store=store)
    late = accept_batch(engine, "acme", [*keyed, replace(keyed[0], fingerprint="other")], NOON + TWO_DAYS_MS)
    assert [job.job_id for job in late[:20] if isinstance(job, Record)] == ids_of(first)
    assert all(isinstance(answer, InvalidRequest) for answer in late[20:])
    assert store.calls == ["get_many"]


def test_an_earlier_answer_that_cannot_be_read_in_time_is_no_refusal(world: World) -> None:
    keyed = replace(REQUEST, at=NOON, idempotency_key="k")
    store = CountingStore(world.store, unread=True)
    engine = replace(world.engine, store=store)
    (answer,) = accept_batch(engine, "acme", [keyed], NOON + TWO_DAYS_MS)
    assert isinstance(answer, Unavailable)


def ids_of(answers: Sequence[Any]) -> list[str]:
    return [answer.job_id for answer in answers]


def test_entries_of_refused_event_jobs_are_removed_only_until_the_deadline(world: World) -> None:
    waits = replace(REQUEST, pattern=json.dumps({"source": ["shop"]}))
    keyed = [replace(waits, idempotency_key=f"k{number}") for number in range(30)]
    submit_batch(world.engine, "acme", keyed)
    patterns = AwayPatterns(world)
    engine = replace(world.engine, patterns=patterns)  # type: ignore[arg-type]
    submit_batch(engine, "acme", [replace(request, fingerprint="other") for request in keyed])
    assert len(patterns.removed) == 2


@dataclass
class CountingStore:
    """A store that remembers its reads by id."""

    inner: RunStore
    unread: bool = False
    calls: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def get(self, run_id: str) -> Record | None:
        self.calls.append("get")
        return self.inner.get(run_id)

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> Any:
        self.calls.append("get_many")
        read = self.inner.get_many(run_ids, deadline)
        return replace(read, found={}, unread=frozenset(run_ids)) if self.unread else read


@dataclass
class AwayPatterns:
    """An index that takes entries and takes five seconds to say that it removes none."""

    world: World
    removed: list[str] = field(default_factory=list)

    def put(self, tenant: str, keys: Sequence[str], entry: PatternEntry) -> None: ...

    def remove(self, tenant: str, keys: Sequence[str], job_id: str, name: str) -> None:
        self.removed.append(job_id)
        self.world.clock.advance(5)
        raise Unavailable("throttled")
