"""Two of everything at once."""

import random
import threading
from collections import Counter

from onthedot.core import lifecycle
from onthedot.core.attempt import RunExecutor, execute_run
from onthedot.core.ports import Answer, Call, Deadline, Received, Refused, RunMessage
from onthedot.core.records import Status
from onthedot.core.send import message_for
from onthedot.core.start import Done, Redeliver
from onthedot.core.tick import dispatch_due
from tests.builders import World, a_run, a_world
from tests.scenarios.kits.simulation import NoLeases, Simulation


def test_two_dispatchers_race_for_one_slot_of_200_runs_and_each_run_is_sent_once(
    world: World, simulation: Simulation
) -> None:
    runs = [a_run(world.clock).due_in(120).pending().stored_in(world.store) for _ in range(200)]
    simulation.plan_ticks()
    simulation.plan_ticks()
    (first, second) = world.ticks.receive_ticks(2)
    assert first.tick.tick_id != second.tick.tick_id
    start = threading.Barrier(2)
    totals: list[Counter[str]] = []

    def dispatch(tick: object) -> None:
        start.wait()
        deadline = Deadline.after(world.clock.now(), 60_000)
        totals.append(dispatch_due(world.engine, world.progress, tick, deadline))  # type: ignore[arg-type]

    threads = [threading.Thread(target=dispatch, args=(received.tick,)) for received in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts["sent"] for counts in totals) == 200
    assert all(world.store.get(run.run_id).status is Status.DISPATCHED for run in runs)  # type: ignore[union-attr]
    world.clock.advance(120)
    received: Counter[str] = Counter()
    while batch := world.received(runs[0].priority):
        received.update(one.message.run_id for one in batch)
    assert received == {run.run_id: 1 for run in runs}


def test_a_stale_message_that_comes_when_the_retry_is_due_does_not_start_it(world: World) -> None:
    simulation = Simulation(world, [Answer(ok=False, error="HTTP 500")])
    run = simulation.submit(1)
    simulation.let_pass(2)
    parked = simulation.stored(run)
    assert parked.status is Status.DISPATCHED
    world.clock.sleep_until(parked.due_at + 1_000)
    stale = RunMessage(run.run_id, run.generation, run.due_at, "acme", run.priority, run.pool)
    worker = RunExecutor(world.engine, simulation.target, NoLeases(), "w", random.Random(1))
    assert execute_run(worker, Received(stale, "0-0", 1)) == Done("stale")
    assert simulation.stored(run) == parked


def test_duplicate_messages_start_one_attempt(world: World, simulation: Simulation) -> None:
    run = simulation.submit(1)
    for _ in range(5):
        world.queues.send([message_for(run)], Deadline.after(world.clock.now(), 0))
    simulation.let_pass(30)
    assert len(simulation.target.calls) == 1


def test_a_message_of_a_run_that_is_alive_elsewhere_comes_back_after_the_lease(world: World) -> None:
    run = a_run(world.clock).due_in(0).dispatched().stored_in(world.store)
    world.store.move(lifecycle.start(run.run_id, run.generation, now=world.clock.now(), worker="a", attempt_token="a"))
    world.queues.send([message_for(run)], Deadline.after(world.clock.now(), 0))
    simulation = Simulation(world)
    simulation.work()
    (verdict,) = simulation.verdicts
    assert isinstance(verdict, Redeliver)
    assert verdict.after_ms > lifecycle.LEASE_MS
    assert simulation.target.calls == []


def test_a_worker_whose_lease_was_taken_cannot_finish() -> None:
    with a_world() as world:
        run = a_run(world.clock).due_in(0).dispatched().stored_in(world.store)
        engine = world.engine

        class Sleeper:
            """Sleeps past its lease, and another attempt is started meanwhile."""

            def perform(self, call: Call) -> Answer:
                world.clock.advance(lifecycle.LEASE_MS / 1000 + 5)
                running = world.store.get(call.run_id)
                assert running is not None
                now = world.clock.now()
                lost = lifecycle.lose(running, now, generation="g2", deployment=world.deployment)
                world.store.move(lost)
                world.store.move(lifecycle.start(call.run_id, "g2", now=now, worker="b", attempt_token="b"))
                return Answer(ok=True, result="too late")

        worker = RunExecutor(engine, Sleeper(), NoLeases(), "a", random.Random(1))
        world.queues.send([message_for(run)], Deadline.after(world.clock.now(), 0))
        (received,) = world.received(run.priority)
        assert execute_run(worker, received) == Done("fenced off")
        now_running = world.store.get(run.run_id)
        assert now_running is not None
        assert (now_running.status, now_running.worker, now_running.attempt) == (Status.RUNNING, "b", 2)


def test_a_worker_never_starts_a_run_before_its_time(world: World) -> None:
    run = a_run(world.clock).due_in(30).dispatched().stored_in(world.store)
    early = lifecycle.start(run.run_id, run.generation, now=run.due_at - 1, worker="a", attempt_token="a")
    assert isinstance(world.store.move(early), Refused)
    message = RunMessage(run.run_id, run.generation, world.clock.now(), "acme", run.priority, run.pool)
    world.queues.send([message], Deadline.after(world.clock.now(), 0))  # a message that lies about its time
    simulation = Simulation(world)
    simulation.work()
    assert simulation.target.calls == []
    assert isinstance(simulation.verdicts[0], Redeliver)


def test_heartbeats_keep_a_long_attempt_and_the_sweep_parks_it_again(world: World, simulation: Simulation) -> None:
    run = a_run(world.clock).due_in(0).dispatched().stored_in(world.store)
    world.store.move(lifecycle.start(run.run_id, run.generation, now=world.clock.now(), worker="a", attempt_token="a"))
    for _ in range(60):
        world.clock.advance(10)
        running = simulation.stored(run)
        assert not isinstance(world.store.move(lifecycle.extend_lease(running, world.clock.now())), Refused)
        simulation.plan_ticks()
        simulation.dispatch()
    assert simulation.stored(run).attempt == 1
    assert simulation.counts["lost"] == 0
    assert simulation.counts["reparked"] >= 2
    simulation.let_pass(240)  # the heartbeats stop
    assert simulation.status(run) is Status.SUCCEEDED
    assert simulation.stored(run).losses == 1
