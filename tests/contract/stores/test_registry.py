"""The registry of pull workers: registration, heartbeats, runs handed to one worker, forgetting."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from onthedot.core.ports import Clock
from onthedot.workers.records import FORGOTTEN_MS, MOST_ASSIGNED, Load, Resources, WorkerRecord, WorkerStatus
from onthedot.workers.registry import WorkerRegistry

pytestmark = pytest.mark.on_items

BUSY = Load(("job_a", "job_b.1"), Resources(2, 1.5, 300), stopping=True, recent=("job_c.1", "job_d"))


def a_worker(clock: Clock, worker_id: str = "worker_a") -> WorkerRecord:
    now = clock.now()
    return WorkerRecord(worker_id, "acme", "pull", frozenset({"http"}), Resources(4, 2.5, 1024), now, now)


def a_forgotten_worker(clock: Clock, worker_id: str = "worker_old") -> WorkerRecord:
    return replace(a_worker(clock, worker_id), heartbeat_at=clock.now() - FORGOTTEN_MS - 1000)


def found(registry: WorkerRegistry, worker_id: str = "worker_a") -> WorkerRecord:
    worker = registry.find(worker_id)
    assert worker is not None
    return worker


def test_a_registered_worker_is_found_with_every_field(registry: WorkerRegistry, clock: Clock) -> None:
    worker = WorkerRecord(
        worker_id="worker/ü#1",
        tenant="tenant/ü",
        pool="gpu",
        capabilities=frozenset({"shell", "python:billing.close", "gpu"}),
        resources=Resources(4, 2.5, 1024),
        registered_at=clock.now() - 60_000,
        heartbeat_at=clock.now() - 1,
        load=BUSY,
        assigned=frozenset({"job_x", "job_y.000000000000001"}),
        host="laptop ☂",
    )

    registry.register(worker)

    assert registry.find("worker/ü#1") == worker
    assert list(registry.workers()) == [worker]


def test_a_worker_of_everybody_with_nothing_to_offer_comes_back_as_it_is(
    registry: WorkerRegistry, clock: Clock
) -> None:
    bare = replace(a_worker(clock), tenant=None, capabilities=frozenset(), resources=Resources(0))

    registry.register(bare)

    assert found(registry) == bare


def test_an_unknown_worker_is_nobody(registry: WorkerRegistry, clock: Clock) -> None:
    assert registry.find("worker_a") is None
    assert registry.beat("worker_a", clock.now(), Load()) is None
    assert registry.assign("worker_a", "job_x") is False
    registry.unassign("worker_a", ["job_x"])
    assert list(registry.workers()) == []
    assert registry.find("worker_a") is None, "what was done to it must not have made it"


def test_registering_again_replaces_what_was_there(registry: WorkerRegistry, clock: Clock) -> None:
    registry.register(replace(a_worker(clock), load=BUSY, host="before"))
    registry.assign("worker_a", "job_x")
    again = replace(a_worker(clock), capabilities=frozenset({"shell"}))

    registry.register(again)

    assert found(registry) == again


def test_a_heartbeat_says_that_it_lives_and_what_it_does(registry: WorkerRegistry, clock: Clock) -> None:
    worker = a_worker(clock)
    registry.register(worker)
    later = clock.now() + 10_000

    after = registry.beat("worker_a", later, BUSY)

    assert after == replace(worker, heartbeat_at=later, load=BUSY)
    assert found(registry) == after


@pytest.mark.parametrize(
    ("load", "status"),
    [
        (Load(), WorkerStatus.ACTIVE),
        (Load(stopping=True), WorkerStatus.DRAINING),
        (Load(stopped=True), WorkerStatus.STOPPED),
    ],
)
def test_the_last_heartbeat_tells_the_status(
    registry: WorkerRegistry, clock: Clock, load: Load, status: WorkerStatus
) -> None:
    registry.register(a_worker(clock))
    registry.beat("worker_a", clock.now(), load)

    assert found(registry).status(clock.now()) is status


def test_a_run_handed_to_a_worker_stays_until_it_is_taken(registry: WorkerRegistry, clock: Clock) -> None:
    registry.register(a_worker(clock))

    assert registry.assign("worker_a", "job_x") is True
    assert registry.assign("worker_a", "job_y") is True
    assert registry.assign("worker_a", "job_x") is True, "handing it over twice is handing it over once"

    beaten = registry.beat("worker_a", clock.now(), BUSY)
    assert beaten is not None
    assert beaten.assigned == {"job_x", "job_y"}
    registry.unassign("worker_a", ["job_x", "job_unknown"])
    assert found(registry).assigned == {"job_y"}
    registry.unassign("worker_a", [])
    registry.unassign("worker_a", ["job_y", "job_y"])
    registry.unassign("worker_a", ["job_y"])
    assert found(registry) == beaten_without_runs(beaten)
    assert registry.assign("worker_a", "job_z") is True
    assert found(registry).assigned == {"job_z"}


def beaten_without_runs(worker: WorkerRecord) -> WorkerRecord:
    return replace(worker, assigned=frozenset())


def test_workers_are_apart(registry: WorkerRegistry, clock: Clock) -> None:
    one, other = a_worker(clock, "worker_a"), a_worker(clock, "worker_b")
    registry.register(one)
    registry.register(other)

    registry.assign("worker_a", "job_x")
    registry.unassign("worker_b", ["job_x"])
    registry.beat("worker_a", clock.now() + 1, BUSY)

    assert found(registry, "worker_b") == other
    assert found(registry, "worker_a").assigned == {"job_x"}


def test_all_workers_are_listed_however_many(registry: WorkerRegistry, clock: Clock) -> None:
    """More than a page of a query, which ends at a megabyte."""
    workers = [replace(a_worker(clock, f"worker_{n:02}"), host="h" * 100_000) for n in range(12)]
    for worker in workers:
        registry.register(worker)

    assert sorted(registry.workers(), key=lambda worker: worker.worker_id) == workers


def test_a_worker_that_was_silent_for_a_day_is_forgotten(registry: WorkerRegistry, clock: Clock) -> None:
    registry.register(a_worker(clock))
    registry.register(a_forgotten_worker(clock))

    assert registry.find("worker_old") is None
    assert registry.beat("worker_old", clock.now(), Load()) is None
    assert registry.assign("worker_old", "job_x") is False
    assert [worker.worker_id for worker in registry.workers()] == ["worker_a"]


def test_a_heartbeat_keeps_a_worker_from_being_forgotten(registry: WorkerRegistry, clock: Clock) -> None:
    almost = replace(a_worker(clock), heartbeat_at=clock.now() - FORGOTTEN_MS + 600_000)
    registry.register(almost)
    registry.beat("worker_a", clock.now(), Load())

    # The instant at which it would have expired without the heartbeat. The registry uses `now`, not the clock.
    assert registry.beat("worker_a", clock.now() + 700_000, Load()) is not None


def test_heartbeats_and_hand_overs_never_undo_each_other(registry: WorkerRegistry, clock: Clock) -> None:
    registry.register(a_worker(clock))
    run_ids = [f"job_{number}" for number in range(20)]
    last = clock.now() + 20

    def beat() -> None:
        for number in range(20):
            registry.beat("worker_a", clock.now() if number < 19 else last, BUSY)

    def send_runs(ids: list[str]) -> None:
        for run_id in ids:
            registry.assign("worker_a", run_id)

    halves = [threading.Thread(target=send_runs, args=(ids,)) for ids in (run_ids[:10], run_ids[10:])]
    threads = [threading.Thread(target=beat), *halves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    worker = found(registry)
    assert (worker.assigned, worker.heartbeat_at, worker.load) == (frozenset(run_ids), last, BUSY)


def test_at_most_so_many_runs_are_assigned_to_a_worker_however_many_ask_at_once(
    registry: WorkerRegistry, clock: Clock
) -> None:
    present = frozenset(f"job_{number}" for number in range(MOST_ASSIGNED - 2))
    registry.register(replace(a_worker(clock), assigned=present))
    with ThreadPoolExecutor(6) as callers:
        answers = list(callers.map(lambda n: registry.assign("worker_a", f"job_more{n}"), range(6)))
    assert sorted(answers) == [False] * 4 + [True] * 2
    assert len(found(registry).assigned) == MOST_ASSIGNED
    assert registry.assign("worker_a", "job_0") is True, "it is assigned already"
    registry.unassign("worker_a", ["job_0"])
    assert registry.assign("worker_a", "job_again") is True
