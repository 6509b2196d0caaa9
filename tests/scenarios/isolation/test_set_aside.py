"""One record that cannot be read or handled: it is set aside, the others fire on time, and it is taken up again."""

from collections import Counter
from dataclasses import replace

import pytest

from onthedot.core import stamp, sweep
from onthedot.core.ports import Deadline, RunStore
from onthedot.core.records import Record, Status
from onthedot.core.set_aside import BUCKETS_BETWEEN, UNHANDLED, set_aside, take_up
from onthedot.core.slots import BUCKET_MS, SlotKind, aside_slot, bucket_of, slot_shard
from onthedot.core.stamping import plan_stamps
from onthedot.jobs.audit import audit_due_jobs
from onthedot.jobs.explain_job import explain_job
from tests.builders import NOON, VirtualClock, World, a_run, a_world
from tests.poison import UNREADABLE
from tests.scenarios.kits.faults import Faults, FaultyStore
from tests.scenarios.kits.healthy import FAR, SHARDS, all_on_time, assert_progress_goes_on, healthy
from tests.scenarios.kits.poisoning import poison_slot, raw_fields
from tests.scenarios.kits.recurring import cron, fired, submit
from tests.scenarios.kits.simulation import Simulation

UNCHANGED = {"slot", "aside_from", "aside_since", "aside_why"}


@pytest.mark.parametrize("slot_kind", list(SlotKind))
@pytest.mark.parametrize("kind", UNREADABLE)
def test_the_others_fire_on_time_and_the_record_is_set_aside_unchanged(
    world: World, simulation: Simulation, kind: str, slot_kind: SlotKind
) -> None:
    runs, job = healthy(simulation), submit(simulation, cron("* * * * *"))
    bad = {poison_slot(world, kind, slot_kind, NOON + FAR * 1000, shard=shard): shard for shard in SHARDS}
    before = {run_id: raw_fields(world, run_id) for run_id in bad}
    simulation.let_pass(FAR + 360)
    assert all_on_time(simulation, runs)
    assert len(fired(simulation, job)) == (FAR + 360) // 60
    for run_id, shard in bad.items():
        after = raw_fields(world, run_id)
        assert (after["slot"], after["aside_from"]) == (aside_slot(shard), before[run_id]["slot"])
        if kind != "definition not JSON":  # the index does not show it, so the claim pass moves it once
            assert {n: v for n, v in after.items() if n not in UNCHANGED} == {
                n: v for n, v in before[run_id].items() if n not in UNCHANGED
            }
    assert simulation.counts["set_aside"] == len(bad)
    assert simulation.counts["slot_failed"] == 0
    assert_progress_goes_on(world)


@pytest.mark.parametrize("kind", ["unknown kind", "no generation", "newer format", "unknown status"])
def test_a_record_that_can_be_read_again_runs_at_once(world: World, simulation: Simulation, kind: str) -> None:
    bad = poison_slot(world, kind, SlotKind.FIRE, NOON + FAR * 1000, shard=0)
    simulation.let_pass(FAR + 120)
    assert raw_fields(world, bad)["slot"] == aside_slot(0)
    repair(world, bad)
    simulation.let_pass(8 * 60)
    assert raw_fields(world, bad)["status"] == Status.SUCCEEDED
    assert raw_fields(world, bad)["aside_why"] is None
    assert len(simulation.target.times_of(bad)) == 1


def repair(world: World, run_id: str) -> None:
    with world.database.transaction() as connection:
        connection.execute(
            "UPDATE runs SET kind = 'one-off', generation = 'g', format = NULL, status = 'PENDING' WHERE run_id = ?",
            (run_id,),
        )


def test_explain_and_audit_name_the_record(world: World, simulation: Simulation) -> None:
    bad = poison_slot(world, "unknown status", SlotKind.FIRE, NOON + FAR * 1000, shard=1)
    simulation.let_pass(FAR)
    [reason] = explain_job(world.engine, "bad", bad).reasons
    assert reason.code == "unreadable"
    assert "HIBERNATING" in reason.message
    assert "set aside at 2026-03-01T12:0" in reason.message
    named: list[str] = []
    counts = audit_due_jobs(
        world.engine,
        SHARDS,
        Deadline.after(world.clock.now(), 60_000),
        on_unreadable=lambda one: named.append(f"{one.run_id}: {one.why}"),
    )
    assert counts["unreadable"] == 1
    assert named[0].startswith(f"{bad}: its status cannot be read")


def test_the_alarm_counts_the_records_that_are_aside_at_each_look(world: World, simulation: Simulation) -> None:
    poison_slot(world, "unknown kind", SlotKind.FIRE, NOON, shard=0)
    simulation.let_pass(30 * 60)
    assert 5 <= simulation.counts["aside"] <= 6


def test_a_recurring_job_that_raises_an_error_stops_no_other(
    world: World, simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = submit(simulation, cron("* * * * *")), submit(simulation, cron("*/2 * * * *"))
    plan = plan_stamps

    def raising(job: Record, **more: object) -> object:
        if job.run_id == bad.run_id:
            raise ZeroDivisionError("a fault of ours")
        return plan(job, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(stamp, "plan_stamps", raising)
    simulation.let_pass(600)
    assert len(fired(simulation, good)) == 10
    aside = simulation.stored(bad)
    assert aside.aside_why == f"{UNHANDLED}ZeroDivisionError: a fault of ours"
    assert explain_job(world.engine, "acme", bad.run_id).reasons[0].code == "set_aside"

    monkeypatch.undo()
    simulation.let_pass(70 * 60)
    assert simulation.stored(bad).aside_why is None
    assert simulation.stored(bad).due_at > world.clock.now()


def test_a_run_whose_sweep_raises_an_error_stops_no_other(
    world: World, simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = [a_run(world.clock).dispatched().stored_in(world.store) for _ in range(5)]
    decide = sweep.decide

    def raising(run: Record, *more: object, **others: object) -> object:
        if run.run_id == lost[0].run_id:
            raise ZeroDivisionError("a fault of ours")
        return decide(run, *more, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(sweep, "decide", raising)
    simulation.let_pass(300)
    assert {simulation.status(run) for run in lost[1:]} == {Status.SUCCEEDED}
    assert simulation.stored(lost[0]).aside_why == f"{UNHANDLED}ZeroDivisionError: a fault of ours"


def test_an_operator_takes_up_a_record_that_could_not_be_handled(world: World, simulation: Simulation) -> None:
    run = simulation.submit(FAR)
    assert run.slot is not None
    assert world.store.set_aside(run.run_id, run.slot, f"{UNHANDLED}it was odd", world.clock.now())
    simulation.let_pass(FAR + 600)
    assert simulation.status(run) is Status.PENDING
    for shard in SHARDS:
        take_up(world.engine, simulation.counts, shard, Deadline.after(world.clock.now(), 10_000), unhandled_ms=0)
    simulation.let_pass(120)
    assert simulation.status(run) is Status.SUCCEEDED


def test_all_records_that_a_version_can_read_again_are_taken_up_by_one_look_of_each_shard() -> None:
    """A rollback may have set aside as many records as a shard has."""
    with a_world(page_size=100) as world:
        simulation = Simulation(world)
        runs = [a_run(world.clock).due_in(FAR).pending().stored_in(world.store) for _ in range(450)]
        for run in runs:
            assert run.slot is not None
            assert world.store.set_aside(run.run_id, run.slot, "it has format 2", world.clock.now())
        simulation.let_pass(BUCKETS_BETWEEN * BUCKET_MS / 1000)
        assert {simulation.status(run) for run in runs} <= {Status.PENDING, Status.DISPATCHED}
        assert not [run for run in runs if simulation.stored(run).aside_why]


def test_setting_aside_ends_when_time_runs_out(world: World) -> None:
    slow = SlowStore(world.store, world.clock)
    faults = {f"job_{number}": "it is odd" for number in range(2_500)}
    counts: Counter[str] = Counter()
    deadline = Deadline.after(world.clock.now(), 10_000)
    assert not set_aside(replace(world.engine, store=slow), counts, "fire#0#1", faults, deadline)
    assert world.clock.now() <= NOON + 11_000
    assert counts["out_of_time"] == 1


class SlowStore(FaultyStore):
    """A store that takes a second to set a record aside."""

    def __init__(self, store: RunStore, clock: VirtualClock) -> None:
        super().__init__(store, Faults())
        self._clock = clock

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        self._clock.advance(1)
        return super().set_aside(run_id, slot, why, now)


def test_a_record_that_cannot_even_be_set_aside_stops_no_other(world: World) -> None:
    run = a_run(world.clock).due_in(60).pending().stored_in(world.store)
    assert run.slot is not None
    store = StubbornStore(world.store, Faults())
    engine, deadline = replace(world.engine, store=store), Deadline.after(NOON, 10_000)
    faults = {"stubborn": "it is odd", run.run_id: "it is odd"}
    assert not set_aside(engine, Counter(), run.slot, faults, deadline)
    assert [entry.run_id for entry in world.store.read_slot(aside_slot(slot_shard(run.slot))).items] == [run.run_id]


class StubbornStore(FaultyStore):
    """A store with a record that is too large to be set aside."""

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        if run_id == "stubborn":
            raise ValueError("the item is too large")
        return super().set_aside(run_id, slot, why, now)


def test_a_record_that_is_set_aside_is_logged_with_its_id_and_reason(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    bad = poison_slot(world, "unknown kind", SlotKind.FIRE, NOON + FAR * 1000, shard=0)
    Simulation(world).let_pass(FAR)
    [logged] = [vars(record) for record in caplog.records if record.message == "set_aside"]
    assert (logged["run"], logged["why"]) == (bad, raw_fields(world, bad)["aside_why"])


@pytest.mark.parametrize("status", [Status.PENDING, Status.ACTIVE, Status.SUCCEEDED, Status.PAUSED])
def test_a_record_in_a_watch_slot_that_belongs_elsewhere_is_put_where_it_belongs(
    world: World, simulation: Simulation, status: Status
) -> None:
    job = submit(simulation, cron("0 0 1 1 *")) if status is Status.ACTIVE else simulation.submit(7_200)
    misplace(world, job.run_id, f"watch#0#{bucket_of(NOON) + 3}", status)
    simulation.let_pass(15 * 60)
    now = simulation.stored(job)
    assert (now.status, now.aside_why) == (status, None)
    expected = job.slot if status in (Status.PENDING, Status.ACTIVE) else None
    assert now.slot == expected


@pytest.mark.parametrize("status", [Status.DISPATCHED, Status.SUCCEEDED])
def test_a_record_in_a_fire_slot_that_belongs_elsewhere_is_put_where_it_belongs(
    world: World, simulation: Simulation, status: Status
) -> None:
    run = simulation.submit(FAR)
    assert run.slot is not None
    misplace(world, run.run_id, run.slot, status)
    simulation.let_pass(FAR + 900)
    now = simulation.stored(run)
    assert (now.status, now.slot, now.aside_why) == (Status.SUCCEEDED, None, None)
    assert len(simulation.target.times_of(run.run_id)) == (status is Status.DISPATCHED)


def misplace(world: World, run_id: str, slot: str, status: Status) -> None:
    with world.database.transaction() as connection:
        connection.execute("UPDATE runs SET slot = ?, status = ? WHERE run_id = ?", (slot, status.value, run_id))
