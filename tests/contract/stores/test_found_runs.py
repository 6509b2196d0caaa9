"""Runs found on each engine: running ones, the runs of a worker, and dead letters by filters."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from onthedot.core import lifecycle
from onthedot.core.ids import stamped_run_id
from onthedot.core.lifecycle import Failure
from onthedot.core.listing import Window
from onthedot.core.ports import Moved, Page
from onthedot.core.records import Definition, Kind, Record
from onthedot.engine import Engine
from onthedot.jobs.causes import FailureFilter
from onthedot.jobs.dead_letters import count_causes, dead_letters
from onthedot.jobs.find_runs import running_runs, worker_runs
from onthedot.jobs.redrive import redrive_matching
from onthedot.jobs.run_pages import RunFilter
from onthedot.jobs.shown_runs import shown_runs
from onthedot.targets.types import PythonTarget
from onthedot.workers.records import Load, Resources, WorkerRecord
from onthedot.workers.registry import WorkerRegistry
from tests.builders import DEPLOYMENT, a_run, a_world, the_start_of
from tests.contract.kits.kit import Kit


@pytest.fixture
def engine(kit: Kit, registry: WorkerRegistry) -> Iterator[Engine]:
    with a_world() as world:
        yield replace(world.engine, store=kit.store(), clock=kit.clock, registry=registry, deployment=DEPLOYMENT)


def moved(outcome: object) -> Record:
    assert isinstance(outcome, Moved)
    assert outcome.run is not None
    return outcome.run


def a_sent_run(engine: Engine, tenant: str = "acme") -> Record:
    return a_run(engine.clock).in_tenant(tenant).due_in(0).dispatched().stored_in(engine.store)


def a_running_run(engine: Engine, tenant: str = "acme") -> Record:
    return moved(engine.store.move(the_start_of(a_sent_run(engine, tenant), engine.clock.now())))


def failed(engine: Engine, run: Record, after_ms: int, error: str = "boom") -> Record:
    """Return the run, which failed so long after it was created. The clocks of some engines pass."""
    at = run.created_at + after_ms
    move = lifecycle.fail(run, at, failure=Failure(error), why=error, deployment=DEPLOYMENT)
    return moved(engine.store.move(move))


def a_failed_stamp(engine: Engine, job: Record, after_ms: int) -> Record:
    """Return a dead letter of a job that stamps runs."""
    now = engine.clock.now()
    run_id = stamped_run_id(job.job_id, now + after_ms)
    built = a_run(engine.clock).due_in(0).dispatched().having(run_id=run_id, job_id=job.job_id, kind=Kind.STAMPED)
    sent = built.having(definition=None).stored_in(engine.store)
    return failed(engine, moved(engine.store.move(the_start_of(sent, now))), after_ms)


def all_ids(read: Callable[[str | None], Page[Record]]) -> list[str]:
    found: list[str] = []
    cursor: str | None = None
    for _ in range(50):
        page = read(cursor)
        found += [run.run_id for run in page.items]
        cursor = page.cursor
        if cursor is None:
            return found
    raise AssertionError("it never ends")


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_every_running_run_of_the_tenant_is_on_a_page(engine: Engine, limit: int) -> None:
    running = [a_running_run(engine).run_id for _ in range(7)]
    a_sent_run(engine)
    a_running_run(engine, "globex")
    failed(engine, a_running_run(engine), 0)

    found = all_ids(lambda cursor: running_runs(engine, "acme", limit, cursor))

    assert sorted(found) == sorted(running)


def test_the_runs_of_a_worker_are_its_own(engine: Engine) -> None:
    now = engine.clock.now()
    ended, running = failed(engine, a_running_run(engine), 1), a_running_run(engine)
    other = failed(engine, a_running_run(engine, "globex"), 1)
    assert running.worker is not None
    load = Load((running.run_id,), recent=(ended.run_id, other.run_id, "job_none"))
    engine.registry.register(
        WorkerRecord(running.worker, None, "pull", frozenset(), Resources(), now, now, load=Load())
    )
    assert engine.registry.beat(running.worker, now, load) is not None

    page = worker_runs(engine, "acme", running.worker, RunFilter(), limit=10)

    assert [run.run_id for run in page.items] == [running.run_id, ended.run_id]
    first = worker_runs(engine, "acme", running.worker, RunFilter(), limit=1)
    rest = worker_runs(engine, "acme", running.worker, RunFilter(), limit=1, cursor=first.cursor)
    assert [run.run_id for run in (*first.items, *rest.items)] == [running.run_id, ended.run_id]
    assert rest.cursor is None


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_dead_letters_by_cause_and_window(engine: Engine, limit: int) -> None:
    runs = [a_running_run(engine) for _ in range(8)]
    now = runs[-1].created_at
    errors = ["boom" if number % 2 else "bang" for number in range(8)]
    dead = [
        failed(engine, run, now - run.created_at + number, f"{errors[number]} {number}")
        for number, run in enumerate(runs)
    ]
    wanted = FailureFilter(Window(now + 2, now + 7), cause="boom …")

    found = all_ids(lambda cursor: dead_letters(engine, "acme", wanted, limit, cursor))

    assert found == [dead[5].run_id, dead[3].run_id]


def test_dead_letters_by_the_name_of_their_job(engine: Engine) -> None:
    named = Definition(PythonTarget("send"), name="nightly report")
    job = a_run(engine.clock).having(kind=Kind.EVENT, definition=named).stored_in(engine.store)
    failed(engine, a_running_run(engine), 9)
    stamps = [a_failed_stamp(engine, job, n) for n in range(3)]

    page = dead_letters(engine, "acme", FailureFilter(name="nightly"), 10)

    assert [run.run_id for run in page.items] == [run.run_id for run in stamps[::-1]]
    shown = shown_runs(engine, page.items)
    assert [one["name"] for one in shown] == [named.name] * 3
    assert dead_letters(engine, "acme", FailureFilter(name="daily"), 10).items == []


def test_causes_are_counted(engine: Engine) -> None:
    for number in range(3):
        failed(engine, a_running_run(engine), number, f"user {number} is unknown")
    last = failed(engine, a_running_run(engine), 5, "no disk")

    counted = count_causes(engine, "acme", FailureFilter(), 10)

    assert [(cause.text, cause.count) for cause in counted.causes] == [("user … is unknown", 3), ("no disk", 1)]
    assert (counted.causes[1].latest, counted.truncated) == (last, False)


def test_a_redrive_leaves_runs_that_do_not_match(engine: Engine) -> None:
    kept, again = failed(engine, a_running_run(engine), 0, "no"), failed(engine, a_running_run(engine), 0, "yes")

    dry = redrive_matching(engine, "acme", FailureFilter(cause="yes"), dry_run=True)
    done = redrive_matching(engine, "acme", FailureFilter(cause="yes"))

    assert [run.run_id for run in dry.runs] == [run.run_id for run in done.runs] == [again.run_id]
    assert [run.run_id for run in engine.store.failed("acme", 10).items] == [kept.run_id]
