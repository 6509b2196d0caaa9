"""A clock that is set back or ahead by an hour while runs wait: no run starts early, and none is lost.

A server goes by the clock of its machine. A run starts when the clock shows its fire time.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.api.http import Request
from onthedot.api.router import handle
from onthedot.core.finish import finish_run
from onthedot.core.ports import Answer, Deadline, Tick
from onthedot.core.records import Record, Status
from onthedot.core.schema import DEFAULT_POOL, PRIORITIES
from onthedot.core.start import Started, start_run
from onthedot.core.tick import dispatch_due
from onthedot.engines.sqlite.database import Database
from onthedot.serve.server import LOCAL_USER
from onthedot.wiring.embedded import embedded
from tests.builders import SERVER, SettableClock

HOUR = 3_600_000
STEP_SECONDS = 10


class Server:
    """The parts of a server, in a time that the test sets. Targets answer at once."""

    def __init__(self, database: Database) -> None:
        self.clock = SettableClock()
        self.parts = embedded(database, self.clock, SERVER)
        self.started: list[tuple[str, int]] = []
        self._chance = random.Random(1)

    def job(self, **fields: Any) -> str:
        body = json.dumps({"callback_url": "http://127.0.0.1:9/x", **fields}).encode()
        response = handle(self.parts.engine, Request("POST", "/v1/jobs", body=body, principal=LOCAL_USER))
        assert response.status == 202, response.body
        return str(response.body["job_id"])

    def run(self, run_id: str) -> Record:
        found = self.parts.engine.store.get(run_id)
        assert found is not None
        return found

    def live(self, minutes: float) -> None:
        """Let time pass: a tick each minute, and a worker that takes each run when it comes."""
        for step in range(round(minutes * 60 / STEP_SECONDS)):
            if step * STEP_SECONDS % 60 == 0:
                self.tick()
            self.work()
            self.clock.advance(STEP_SECONDS)
        self.work()

    def tick(self) -> None:
        now = self.clock.now()
        tick = Tick(0, (0,), now, f"tick-{len(self.started)}-{now}")
        dispatch_due(self.parts.engine, self.parts.progress, tick, Deadline.after(now, 50_000))

    def work(self) -> None:
        for priority in PRIORITIES:
            for received in self.parts.queues.receive(DEFAULT_POOL, priority, 10, visibility_ms=60_000):
                started = self.start(received.message)
                self.parts.queues.delete(received)
                if started is not None:
                    self.finish(started)

    def start(self, message: Any) -> Started | None:
        verdict = start_run(self.parts.engine, message, "serve-1", near_ms=0)
        if not isinstance(verdict, Started):
            return None
        assert self.clock.now() >= verdict.run.due_at, "it started early"
        self.started.append((verdict.run.run_id, self.clock.now()))
        return verdict

    def finish(self, started: Started) -> str:
        answer = Answer(ok=True)
        return finish_run(
            self.parts.engine, started.run, started.definition, answer, chance=self._chance, patience_ms=0
        )

    def times_of(self, job_id: str) -> list[int]:
        return [at for run_id, at in self.started if run_id.split(".")[0] == job_id]


@pytest.fixture
def server() -> Iterator[Server]:
    with Database() as database:
        made = Server(database)
        yield made
        made.parts.writer.close()


@pytest.mark.parametrize("delay", [20, 100, 600], ids=["sent", "sent ahead", "in a fire slot"])
def test_set_back_each_run_starts_once_when_the_clock_shows_its_time(server: Server, delay: int) -> None:
    server.live(3)
    job, due_at = server.job(delay=delay), server.clock.now() + delay * 1000
    server.live(0.2)

    server.clock.set_by(-HOUR)
    server.live(59)
    assert server.times_of(job) == []
    server.live(15)

    (at,) = server.times_of(job)
    assert due_at <= at <= due_at + STEP_SECONDS * 1000
    assert server.run(job).status is Status.SUCCEEDED


@pytest.mark.parametrize("delay", [0, 20, 100, 600])
def test_jobs_created_after_the_clock_was_set_back_are_on_time(server: Server, delay: int) -> None:
    """Their fire times are before the progress of the ticks."""
    server.live(10)
    server.clock.set_by(-HOUR)
    job, due_at = server.job(delay=delay), server.clock.now() + delay * 1000

    server.live(12)

    (at,) = server.times_of(job)
    assert due_at <= at <= due_at + STEP_SECONDS * 1000


@pytest.mark.parametrize("delay", [20, 100, 600, 3000])
def test_set_ahead_runs_whose_time_was_passed_over_start_at_once(server: Server, delay: int) -> None:
    server.live(3)
    job = server.job(delay=delay)
    server.live(0.2)

    server.clock.set_by(HOUR)
    began = server.clock.now()
    server.live(3)

    (at,) = server.times_of(job)
    assert began <= at <= began + 60_000
    assert server.run(job).status is Status.SUCCEEDED


def test_a_recurring_job_runs_no_fire_time_twice_when_the_clock_is_set_back(server: Server) -> None:
    job = server.job(every=60)
    server.live(10)
    before = len(server.times_of(job))

    server.clock.set_by(-HOUR)
    server.live(75)

    run_ids = [run_id for run_id, _ in server.started]
    assert len(run_ids) == len(set(run_ids))
    assert before >= 9
    assert len(server.times_of(job)) >= before + 14, "it goes on when the clock shows the next fire time"


def test_a_recurring_job_goes_on_when_the_clock_is_set_ahead(server: Server) -> None:
    job = server.job(every=60)
    server.live(5)
    before = len(server.times_of(job))

    server.clock.set_by(HOUR)
    server.live(10)

    run_ids = [run_id for run_id, _ in server.started]
    assert len(run_ids) == len(set(run_ids))
    assert len(server.times_of(job)) >= before + 9


def test_an_attempt_that_runs_while_the_clock_is_set_back_ends_as_usual(server: Server) -> None:
    job = server.job()
    (received,) = server.parts.queues.receive(DEFAULT_POOL, PRIORITIES[1], 10, visibility_ms=60_000)
    started = server.start(received.message)
    assert started is not None

    server.clock.set_by(-HOUR)
    server.live(5)

    assert server.finish(started) == "succeeded"
    assert len(server.times_of(job)) == 1


def test_an_attempt_that_runs_while_the_clock_is_set_ahead_may_run_again_and_only_one_counts(server: Server) -> None:
    """By the clock its lease ended long ago. Both have one idempotency key, and the second fences off the first."""
    job = server.job()
    (received,) = server.parts.queues.receive(DEFAULT_POOL, PRIORITIES[1], 10, visibility_ms=60_000)
    first = server.start(received.message)
    assert first is not None

    server.clock.set_by(HOUR)
    server.live(5)

    assert len(server.times_of(job)) == 2
    assert server.finish(first) == "fenced off"
    ended = server.run(job)
    assert (ended.status, ended.losses) == (Status.SUCCEEDED, 1)
