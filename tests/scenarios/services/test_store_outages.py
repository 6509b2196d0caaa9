"""The table, the due index and the items for limits away for an hour: what needs them waits, the rest goes on."""

import pytest

from onthedot.core.choices import Priority, Requirements
from onthedot.core.errors import Unavailable, Unreachable
from onthedot.core.records import Definition, Record, Status
from onthedot.jobs.audit import audit_recent
from onthedot.targets.types import ShellTarget
from tests.builders import a_run
from tests.scenarios.kits.outages import HOUR, StormySimulation
from tests.scenarios.kits.recurring import cron, fired, submit

MINUTE = 60.0
FAR = 600


def pending(storm: StormySimulation, count: int, due_in: float, tenant: str = "acme") -> list[Record]:
    runs = (a_run(storm.clock).due_in(due_in).in_tenant(tenant).pending() for _ in range(count))
    return [run.stored_in(storm.calm.store) for run in runs]


def statuses(storm: StormySimulation, runs: list[Record]) -> set[Status]:
    return {storm.calm_status(run) for run in runs}


def lateness(storm: StormySimulation, runs: list[Record]) -> float:
    """The largest lateness of the runs in seconds. Every one of them has started."""
    return max(storm.target.times_of(run.run_id)[0] - run.fire_time for run in runs) / 1000


def test_limits_that_cannot_be_read_stop_no_claims(storm: StormySimulation) -> None:
    storm.outages.fail("limits.read")
    runs = pending(storm, 20, due_in=100)

    storm.let_pass(3 * MINUTE)

    assert statuses(storm, runs) == {Status.SUCCEEDED}
    assert lateness(storm, runs) <= 3
    assert storm.counts["limits_unknown"] > 0


def test_a_queue_that_cannot_be_flagged_stops_no_other_and_no_progress(storm: StormySimulation) -> None:
    storm.outages.fail("gates.read", "gates.change", seconds=20 * MINUTE)
    storm.outages.fail("queues.visible", seconds=20 * MINUTE, error=Unreachable, concerns=is_low)
    theirs = [a_run(storm.clock).due_in(100).of_priority(Priority.LOW).pending().stored_in(storm.calm.store)]
    others = pending(storm, 20, due_in=100)

    storm.let_pass(10 * MINUTE)

    assert statuses(storm, others) == {Status.SUCCEEDED}
    assert statuses(storm, theirs) == {Status.PENDING}
    assert (storm.crashes, storm.counts["queue_not_flagged"] > 0) == (0, True)
    storm.let_pass(12 * MINUTE)
    assert statuses(storm, theirs) == {Status.SUCCEEDED}


def is_low(_: str, priority: Priority) -> bool:
    return priority is Priority.LOW


def test_a_throttled_shard_of_the_due_index_holds_up_no_other_shard(storm: StormySimulation) -> None:
    runs = pending(storm, 40, due_in=10 * MINUTE)
    theirs = [run for run in runs if (run.slot or "").split("#")[1] == "0"]
    others = [run for run in runs if run not in theirs]
    storm.outages.fail("store.read_slot", seconds=20 * MINUTE, concerns=lambda slot, *_: slot.split("#")[1] == "0")

    storm.let_pass(19 * MINUTE)
    assert (statuses(storm, theirs), statuses(storm, others)) == ({Status.PENDING}, {Status.SUCCEEDED})
    assert lateness(storm, others) <= 3

    storm.let_pass(5 * MINUTE)
    assert statuses(storm, theirs) == {Status.SUCCEEDED}


WHOLE_TABLE = [
    f"store.{call}"
    for call in ("create", "create_many", "get", "get_many", "move", "move_many", "read_slot", "runs_of")
]


def test_after_an_hour_without_the_table_every_accepted_run_starts(storm: StormySimulation) -> None:
    due = pending(storm, 20, due_in=30 * MINUTE)
    near = [storm.submit(20) for _ in range(5)]
    storm.outages.fail(*WHOLE_TABLE, "limits.read", "progress.begin", "progress.read_progress", "progress.finish")
    with pytest.raises(Unavailable):
        storm.submit(5)

    storm.let_pass(HOUR - MINUTE)
    assert storm.target.calls == []

    storm.let_pass(15 * MINUTE)
    assert statuses(storm, [*due, *near]) == {Status.SUCCEEDED}
    assert {len(storm.target.times_of(run.run_id)) for run in (*due, *near)} == {1}


@pytest.mark.parametrize(
    "call", ["store.move_many", "store.create_many", "store.get_many", "progress.begin", "progress.finish"]
)
def test_after_an_hour_without_one_call_of_the_table_every_time_has_its_outcome(
    storm: StormySimulation, call: str
) -> None:
    runs = pending(storm, 20, due_in=30 * MINUTE)
    job = submit(storm, cron("*/5 * * * *"))
    storm.outages.fail(call)

    storm.let_pass(HOUR + 30 * MINUTE)

    assert statuses(storm, runs) == {Status.SUCCEEDED}
    assert audit_recent(storm.calm.engine, storm.stored(job)).holes == ()


def test_without_the_tick_queue_near_runs_start_and_the_others_after_it(storm: StormySimulation) -> None:
    far = pending(storm, 5, due_in=30 * MINUTE)
    storm.outages.fail("ticks.send_ticks")

    near = [storm.submit(20) for _ in range(5)]
    storm.let_pass(HOUR - MINUTE)
    assert (statuses(storm, near), statuses(storm, far)) == ({Status.SUCCEEDED}, {Status.PENDING})

    storm.let_pass(2 * MINUTE)
    assert statuses(storm, far) == {Status.SUCCEEDED}


@pytest.mark.parametrize("error", [Unavailable, ZeroDivisionError])
def test_a_run_for_which_no_pool_can_be_looked_up_stops_no_other(
    storm: StormySimulation, error: type[Exception]
) -> None:
    jobs = [submit(storm, cron("* * * * *")) for _ in range(10)]
    target = Definition(ShellTarget(("a",)), requirements=Requirements(("gpu",)))
    lost = [
        a_run(storm.clock).due_in(FAR).having(pool="gone", definition=target).pending().stored_in(storm.calm.store)
        for _ in range(10)
    ]
    others = pending(storm, 20, due_in=FAR)
    storm.outages.fail("registry.workers", error=error)

    storm.let_pass(FAR + MINUTE)

    assert statuses(storm, others) == {Status.SUCCEEDED}
    assert lateness(storm, others) <= 3
    assert {len(fired(storm, job)) for job in jobs} == {(FAR + 60) // 60}
    assert statuses(storm, lost) == {Status.PENDING}
    assert storm.counts["set_aside"] == (0 if error is Unavailable else len(lost))
    slots = {run.slot for run in lost}
    assert storm.outages.failed["registry.workers"] <= 10 * len(slots), "asked once for a slot and tick"
