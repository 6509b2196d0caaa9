"""Runs of a closed queue wait on its list, in order. They stop no other run, and cost no reads while they wait."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.errors import Unreachable
from onthedot.core.gate_names import gate_of_slot, queue_gate
from onthedot.core.pools import DEFAULT_POOLS, Pool, PoolKind, Pools
from onthedot.core.ports import Deadline
from onthedot.core.records import Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.send import message_for
from onthedot.core.slots import BUCKET_MS, Deployment, bucket_of
from onthedot.gates import look as look_at_queue
from onthedot.gates.state import GateState
from onthedot.gates.waiting import flag_queue
from tests.builders import World, a_run, a_world
from tests.scenarios.kits.faults import Fault, Faults
from tests.scenarios.kits.outages import StormySimulation
from tests.scenarios.kits.poisoning import raw_fields
from tests.scenarios.kits.recurring import cron, submit
from tests.scenarios.kits.simulation import Simulation

MINUTE = 60.0
DAY = 24 * 60 * MINUTE
GATE = queue_gate("default-medium")
DEPLOYMENT = Deployment(shards=2, lookahead=3, history_days=7, backlog_limit=5)


@pytest.fixture
def storm() -> Iterator[StormySimulation]:
    with a_world(DEPLOYMENT) as world:
        yield StormySimulation(world)


def close(storm: StormySimulation, minutes: float, pool: str = DEFAULT_POOL) -> None:
    """Close the medium queue of a pool for this long."""
    storm.outages.fail(
        "queues.visible",
        seconds=minutes * MINUTE,
        error=Unreachable,
        concerns=lambda its, priority: its == pool and priority is Priority.MEDIUM,
    )


def pending(storm: Simulation, count: int, due_in: float, tenant: str = "acme", apart: float = 0) -> list[Record]:
    store = storm.world.store
    some = (a_run(storm.clock).due_in(due_in + n * apart).in_tenant(tenant).pending() for n in range(count))
    return [run.stored_in(store) for run in some]


def statuses(storm: Simulation, runs: list[Record]) -> Counter[Status]:
    return Counter(storm.status(run) for run in runs)


def state(storm: Simulation) -> GateState:
    return storm.world.gates.read(GATE)


def tick(storm: Simulation) -> None:
    storm.clock.advance(MINUTE - storm.clock.now() / 1000 % MINUTE)
    storm.plan_ticks()
    storm.dispatch()


def progress(world: World) -> int:
    """Return the least bucket that all passes of all shards have completed."""
    with world.database.transaction() as connection:
        query = "SELECT content FROM items WHERE partition LIKE 'progress#%'"
        done = [json.loads(json.loads(row["content"])["done"]) for row in connection.execute(query)]
    return int(min(min(one["fire"], one["watch"]) for one in done))


def test_runs_wait_on_the_list_and_all_run_once_when_the_queue_is_open_again(storm: StormySimulation) -> None:
    close(storm, 30)
    runs = pending(storm, 30, due_in=100, apart=1)
    job = submit(storm, cron("* * * * *"))
    storm.let_pass(20 * MINUTE)
    assert statuses(storm, runs) == {Status.PENDING: 30}
    stamped = list(storm.world.store.runs_of(job.job_id, 100).items)
    waiting = [run for run in (*map(storm.stored, runs), *stamped) if run.status is Status.PENDING]
    late = [run for run in waiting if run.due_at < storm.clock.now() - 2 * BUCKET_MS]
    assert len(late) > 40
    assert {gate_of_slot(run.slot) for run in late} == {GATE}
    assert progress(storm.calm) >= bucket_of(storm.clock.now()) - 1
    storm.let_pass(45 * MINUTE)
    assert statuses(storm, runs) == {Status.SUCCEEDED: 30}
    assert len(storm.target.calls) == len({run_id for run_id, _, _ in storm.target.calls}), "each ran once"
    started = [storm.target.times_of(run.run_id)[0] for run in runs]
    assert started == sorted(started)
    assert state(storm) == GateState(), "the flag is taken away"


def test_a_queue_that_is_closed_for_a_moment_is_not_flagged(storm: StormySimulation) -> None:
    close(storm, 1.5)
    runs = pending(storm, 5, due_in=60)
    storm.let_pass(4 * MINUTE)
    assert statuses(storm, runs) == {Status.SUCCEEDED: 5}
    assert (state(storm), storm.counts["wait_for_queue"]) == (GateState(), 0)


@pytest.mark.parametrize("at_once", [2, look_at_queue.AT_ONCE])
def test_a_look_wakes_as_many_as_the_queue_can_take_the_earliest_first(
    storm: StormySimulation, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(look_at_queue, "AT_ONCE", at_once)
    close(storm, 10)
    runs = pending(storm, 12, due_in=60, apart=1)
    storm.let_pass(9.5 * MINUTE)
    storm.clock.advance(2 * MINUTE)
    seen = [statuses(storm, runs)[Status.DISPATCHED]]
    for _ in range(6):
        tick(storm)
        seen.append(statuses(storm, runs)[Status.DISPATCHED])
    # No worker takes the messages. A queue is closed when it has more than its limit, so one more than that fills it.
    assert seen[-1] == DEPLOYMENT.backlog_limit + 1
    assert {storm.status(run) for run in runs[:5]} == {Status.DISPATCHED}
    storm.let_pass(5 * MINUTE)
    assert statuses(storm, runs) == {Status.SUCCEEDED: 12}


def test_a_crowd_of_one_tenant_on_the_list_does_not_stand_before_another(storm: StormySimulation) -> None:
    close(storm, 10)
    crowd = pending(storm, 40, due_in=60, tenant="big")
    small = pending(storm, 2, due_in=70, tenant="small")
    storm.let_pass(9.5 * MINUTE)
    storm.clock.advance(2 * MINUTE)
    for _ in range(3):
        tick(storm)
    assert statuses(storm, small) == {Status.DISPATCHED: 2}
    assert statuses(storm, crowd)[Status.DISPATCHED] <= 4


def test_while_a_queue_is_closed_new_runs_go_behind_the_others_and_then_straight_to_it(storm: StormySimulation) -> None:
    close(storm, 10)
    pending(storm, 3, due_in=30)
    storm.let_pass(9 * MINUTE)
    new = storm.submit(1)
    assert (new.status, gate_of_slot(new.slot)) == (Status.PENDING, GATE)
    # Steady traffic flags the queue again and again, and must not keep it closed.
    for _ in range(5 * 60 // 10):
        storm.submit(1)
        storm.let_pass(10)
    assert storm.submit(1).status is Status.DISPATCHED
    assert storm.status(new) is Status.SUCCEEDED
    storm.let_pass(8 * MINUTE)
    assert state(storm) == GateState()


def test_the_flag_is_written_at_most_every_five_seconds(storm: StormySimulation) -> None:
    engine = storm.world.engine
    flagged = flag_queue(engine, DEFAULT_POOL, Priority.MEDIUM, storm.clock.now()).state
    for _ in range(5):
        storm.clock.advance(1)
        storm.submit(1)
        assert state(storm).flagged_at == flagged.flagged_at
    storm.clock.advance(1)
    storm.submit(1)
    assert state(storm).flagged_at == storm.clock.now()


def test_other_queues_go_on(storm: StormySimulation) -> None:
    close(storm, 60)
    pending(storm, 20, due_in=30)
    storm.let_pass(10 * MINUTE)
    urgent = a_run(storm.clock).due_in(90).of_priority(Priority.HIGH).pending().stored_in(storm.world.store)
    storm.let_pass(3 * MINUTE)
    assert storm.target.times_of(urgent.run_id)[0] <= urgent.due_at + 1_000


def test_runs_of_a_pool_that_is_gone_leave_its_list_for_another_pool() -> None:
    other = Pool("other", PoolKind.PUSH, frozenset({"http"}), 1, 1000, 60, batch=10)
    with a_world(replace(DEPLOYMENT, pools=Pools((*DEFAULT_POOLS, other)))) as world:
        storm = StormySimulation(world)
        close(storm, 600, pool="other")
        runs = [a_run(world.clock).due_in(30).having(pool="other").pending().stored_in(world.store) for _ in range(15)]
        storm.let_pass(5 * MINUTE)
        assert {gate_of_slot(storm.stored(run).slot) for run in runs} == {queue_gate("other-medium")}
        without = StormySimulation(replace(world, deployment=DEPLOYMENT))
        without.let_pass(6 * MINUTE)
        assert statuses(without, runs) == {Status.SUCCEEDED: 15}


def test_a_record_that_cannot_be_read_is_set_aside_from_the_list(storm: StormySimulation) -> None:
    close(storm, 10)
    bad, *good = pending(storm, 12, due_in=30)
    storm.let_pass(5 * MINUTE)
    with storm.calm.database.transaction() as connection:
        connection.execute("UPDATE runs SET priority = 'NEWER' WHERE run_id = ?", (bad.run_id,))
    storm.let_pass(12 * MINUTE)
    assert statuses(storm, good) == {Status.SUCCEEDED: 11}
    assert raw_fields(storm.calm, bad.run_id)["slot"] == "aside#0"


def test_a_gate_that_fails_stops_neither_the_others_nor_progress(
    storm: StormySimulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = look_at_queue.look_at_queue

    def fails(look_now: Any, gate: Any, slot: str) -> None:
        if gate == queue_gate("default-low"):
            raise ZeroDivisionError("a fault of ours")
        look(look_now, gate, slot)

    monkeypatch.setattr(look_at_queue, "look_at_queue", fails)
    flag_queue(storm.world.engine, DEFAULT_POOL, Priority.LOW, storm.clock.now())
    close(storm, 5)
    runs = pending(storm, 5, due_in=30)
    storm.let_pass(15 * MINUTE)
    assert statuses(storm, runs) == {Status.SUCCEEDED: 5}
    assert storm.counts["gate_failed"] > 1, "it is tried again"
    assert progress(storm.calm) >= bucket_of(storm.clock.now()) - 1


@pytest.mark.parametrize("call", ["gates.read", "gates.change"])
def test_while_gates_cannot_be_read_or_written_runs_wait_and_then_go_on(storm: StormySimulation, call: str) -> None:
    close(storm, 5)
    runs = pending(storm, 5, due_in=30)
    storm.let_pass(4 * MINUTE)
    storm.outages.fail(call, seconds=20 * MINUTE)
    assert storm.submit(1).status is Status.DISPATCHED, "the direct path goes on without the flag"
    storm.let_pass(19 * MINUTE)
    storm.let_pass(6 * MINUTE)
    assert statuses(storm, runs) == {Status.SUCCEEDED: 5}
    assert progress(storm.calm) >= bucket_of(storm.clock.now()) - 1


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.CRASH_HALFWAY])
def test_a_dispatcher_that_dies_anywhere_loses_no_run(fault: Fault) -> None:
    """The crash is at each effect of the tick that puts runs on the list, and of the tick that wakes them."""
    effects = 0
    while True:
        with a_world(replace(DEPLOYMENT, backlog_limit=0)) as world:
            simulation = Simulation(world)
            runs = pending(simulation, 3, due_in=30)
            filler = a_run(world.clock).dispatched().stored_in(world.store)
            simulation.world.queues.send([message_for(filler)], Deadline.after(world.clock.now(), 1_000))
            tick(simulation)
            tick(simulation)
            crashed = _ticks_with_crash(simulation, fault, effects)
            simulation.let_pass(12 * MINUTE)
            assert statuses(simulation, runs) == {Status.SUCCEEDED: 3}, (fault, effects)
            assert all(len(simulation.target.times_of(run.run_id)) == 1 for run in runs)
        if not crashed:
            assert effects > 5, "there were crashes"
            return
        effects += 1


def _ticks_with_crash(simulation: Simulation, fault: Fault, effects: int) -> bool:
    """Do the tick that lists the runs, open the queue, and do the ticks that wake them, with one crash among them."""
    faults = Faults(effects, fault)
    for minute in range(4):
        if minute == 1:
            simulation.world.queues.purge(DEFAULT_POOL, Priority.MEDIUM)
        simulation.clock.advance(MINUTE)
        simulation.plan_ticks()
        simulation.dispatch(faults)
    return simulation.crashes > 0


@pytest.mark.slow
def test_reads_of_a_tick_do_not_grow_with_the_number_or_age_of_waiting_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue is closed for two weeks, with more than a thousand runs on its list."""
    monkeypatch.setattr(look_at_queue, "MANY", 100)
    with a_world(DEPLOYMENT, page_size=500) as world, a_world(DEPLOYMENT, page_size=500) as empty:
        held = StormySimulation(world)
        close(held, 30 * DAY)
        pending(held, 1_000, due_in=60)
        alone = Simulation(empty)
        pending(
            alone, 1, due_in=40 * DAY
        )  # the first write of both is at the same time, and so are their deep re-reads
        for hour in range(14 * 24):
            if hour % 12 == 0:
                pending(held, 5, due_in=60 * MINUTE)
            for each in (held, alone):
                each.clock.advance(60 * MINUTE)
                each.plan_ticks()
                each.dispatch()
        for _ in range(5):
            tick(held)
            tick(alone)
        assert len(waiting_runs(world)) > 1_100
        assert progress(world) >= bucket_of(world.clock.now()) - 1
        reads, without = reads_of_ticks(held, 20), reads_of_ticks(alone, 20)
        assert reads <= 1.05 * without, f"{reads} reads beside {without}"


def reads_of_ticks(simulation: Simulation, count: int) -> int:
    """Return how many reads the ticks make: requests for slots, for records and for gates."""
    reads = Counter[str]()
    world = simulation.world
    store: Any = CountedReads(world.store, reads)
    gates: Any = CountedReads(world.gates, reads)
    simulation.world = replace(world, store=store, gates=gates)
    for _ in range(count):
        tick(simulation)
    simulation.world = world
    return reads.total()


class CountedReads:
    """A port that counts its reads."""

    def __init__(self, inner: Any, reads: Counter[str]) -> None:
        self._inner, self._reads = inner, reads

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._inner, name)
        if name not in ("read_slot", "get", "get_many", "runs_of", "read", "pages"):
            return call

        def counted(*given: Any, **named: Any) -> Any:
            self._reads[name] += not (name == "get_many" and not given[0])
            return call(*given, **named)

        return counted


def waiting_runs(world: World) -> list[str]:
    with world.database.transaction() as connection:
        return [row["run_id"] for row in connection.execute("SELECT run_id FROM runs WHERE slot LIKE 'wait#%'")]
