"""A push worker runs the run that it wakes at a gate: without a message, and whatever fails on the way."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from onthedot.core.attempt import LONGEST_MS, MARGIN_MS, NextRun, RunExecutor, execute_run
from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import GateId
from onthedot.core.ports import Answer, Call, Deadline, Received
from onthedot.core.records import Definition, Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.start import Done, Verdict
from onthedot.gates.limits import GateLimits
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import HttpTarget
from tests.builders import NOON, World, a_world
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.kits.simulation import NEVER, NoLeases, Simulation

GATE = "stripe"
LEASE_SECONDS = 30


@dataclass
class Chain:
    """Runs at a gate with one place. They arrive while the first of them runs."""

    world: World
    simulation: Simulation
    runs: list[Record] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    during: dict[int, Callable[[], object]] = field(default_factory=dict)
    """Acts that happen while the call of this number is under way."""

    def submit(self, *gates: str, priority: Priority = Priority.MEDIUM, pool: str = DEFAULT_POOL) -> Record:
        definition = Definition(HttpTarget("http://x/"), retry=RetryPolicy(jitter=False))
        request = JobRequest(definition, "f", priority, pool, delay_ms=0, record={"gates": gates or (GATE,)})
        run = submit_job(self.world.engine, "acme", request)
        self.runs.append(run)
        return run

    def perform(self, call: Call) -> Answer:
        self.calls.append(call.run_id)
        self.during.pop(len(self.calls), lambda: None)()
        return Answer(ok=True)

    def received(self) -> Received:
        [received] = self.world.received()
        return received

    def execute(self, faults: Faults = NEVER, ends_at: int | None = None) -> tuple[Received, Verdict | None]:
        """Execute the message of the first run. None: the worker died."""
        received = self.received()
        worker = RunExecutor(self.simulation.engine(faults), self, NoLeases(), "worker", random.Random(1))
        try:
            return received, execute_run(worker, received, ends_at)
        except Crash:
            return received, None

    def let_others_arrive(self, *gates: str, count: int = 2) -> None:
        for _ in range(count):
            self.submit(*gates)
        self.simulation.work()

    def holders(self) -> int:
        return sum(len(page) for page in self.world.gates.pages(GateId("acme", GATE)))


@pytest.fixture
def chain() -> Iterator[Chain]:
    with a_world() as world:
        yield a_chain(world)


def a_chain(world: World) -> Chain:
    """A first run that is due, and two others that come while it runs."""
    world.gates.put("acme", GATE, GateLimits(in_flight=1))
    chain = Chain(world, Simulation(world))
    chain.simulation.target = chain  # type: ignore[assignment] # later calls are recorded here too
    chain.submit()
    chain.during[1] = chain.let_others_arrive
    return chain


def test_a_worker_runs_what_it_wakes_one_after_the_other_without_a_message(chain: Chain) -> None:
    counted = Faults()
    received, verdict = chain.execute(counted)
    assert verdict == Done("succeeded")
    assert sorted(chain.calls) == sorted(run.run_id for run in chain.runs)
    assert [chain.simulation.status(run) for run in chain.runs] == [Status.SUCCEEDED] * 3
    assert "send" not in counted.seen
    assert chain.holders() == 0
    assert counted.seen.count("delete") == 1, received


def test_a_finished_run_hands_over_one_run_and_sends_the_others(chain: Chain) -> None:
    chain.world.gates.put("acme", "other", GateLimits(in_flight=1))
    chain.runs.clear()
    chain.received()  # the run with one gate is not needed here
    first = chain.submit(GATE, "other")

    def others_arrive() -> None:
        chain.submit(GATE)
        chain.submit("other")
        chain.simulation.work()

    chain.during[1] = others_arrive
    counted = Faults()
    chain.execute(counted)
    assert chain.calls[0] == first.run_id
    assert len(chain.calls) == 2
    assert counted.seen.count("send") == 1
    chain.simulation.work()
    assert [chain.simulation.status(run) for run in chain.runs] == [Status.SUCCEEDED] * 3


def offered(chain: Chain, ends_at: int | None = None, **fields: object) -> bool:
    message = chain.received().message
    next_run = NextRun(chain.world.engine, message, chain.world.clock.now(), ends_at)
    woken = replace(message, run_id="job_next", woken=GATE, **fields)  # type: ignore[arg-type]
    return next_run.accept(woken)


@pytest.mark.parametrize(
    ("fields", "taken"),
    [
        ({}, True),
        ({"pool": "long"}, False),
        ({"priority": Priority.LOW}, False),
        ({"due_at": NOON + 1}, False),
    ],
    ids=["same queue", "other pool", "other priority", "not due"],
)
def test_a_run_of_the_same_queue_that_is_due_is_taken_over(
    chain: Chain, fields: dict[str, object], taken: bool
) -> None:
    assert offered(chain, **fields) is taken  # type: ignore[arg-type]


def test_a_run_of_a_pool_that_is_gone_is_not_taken_over(chain: Chain) -> None:
    message = replace(chain.received().message, pool="gone")
    assert not NextRun(chain.world.engine, message, chain.world.clock.now(), None).accept(message)


def test_priorities_that_share_a_queue_share_its_workers(chain: Chain) -> None:
    message = replace(chain.received().message, pool="long")
    next_run = NextRun(chain.world.engine, message, chain.world.clock.now(), None)
    assert next_run.accept(replace(message, run_id="job_next", priority=Priority.LOW))


@pytest.mark.parametrize(("left_ms", "taken"), [(60_000 + MARGIN_MS, True), (60_000 + MARGIN_MS - 1, False)])
def test_a_run_is_taken_over_only_if_the_longest_call_of_the_pool_has_time(
    chain: Chain, left_ms: int, taken: bool
) -> None:
    assert offered(chain, chain.world.clock.now() + left_ms) is taken


def test_a_run_is_not_taken_over_while_another_waits_in_the_queue(chain: Chain) -> None:
    received = chain.received()
    next_run = NextRun(chain.world.engine, received.message, chain.world.clock.now(), None)
    chain.submit()
    assert not next_run.accept(received.message)


def test_a_run_is_not_taken_over_when_the_queue_does_not_say_whether_others_wait(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> int:
        raise Unavailable("queue")

    message = chain.received().message
    monkeypatch.setattr(chain.world.queues, "visible", away)
    assert not NextRun(chain.world.engine, message, chain.world.clock.now(), None).accept(message)


def test_a_worker_takes_runs_over_for_a_minute_and_then_sends_them(chain: Chain) -> None:
    chain.during[2] = lambda: chain.world.clock.advance(LONGEST_MS / 1000 + 1)
    counted = Faults()
    chain.execute(counted)
    assert len(chain.calls) == 2
    assert counted.seen.count("send") == 1
    chain.simulation.work()
    assert len(chain.calls) == 3


def test_a_handed_over_run_that_cannot_start_now_is_sent_and_starts_soon(chain: Chain) -> None:
    """The store fails when the second run starts: no tick is needed to find it."""
    chain.execute(Faults(effects().index("take place", 1), Fault.AWAY))
    assert len(chain.calls) == 1
    chain.simulation.let_pass(10, ticking=False)
    assert [chain.simulation.status(run) for run in chain.runs] == [Status.SUCCEEDED] * 3
    assert chain.holders() == 0


def test_an_error_in_a_handed_over_run_is_raised_and_the_run_is_sent(chain: Chain) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    chain.during[2] = fail
    with pytest.raises(ZeroDivisionError):
        chain.execute()
    chain.simulation.let_pass(LEASE_SECONDS + 15, ticking=False)
    assert [chain.simulation.status(run) for run in chain.runs] == [Status.SUCCEEDED] * 3


def test_an_error_after_the_hand_over_leaves_the_handed_over_run_a_message(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("onthedot.core.finish.send_if_dispatched", fail)
        with pytest.raises(ZeroDivisionError):
            chain.execute()
    assert len(chain.calls) == 1
    chain.simulation.let_pass(1, ticking=False)
    assert [chain.simulation.status(run) for run in chain.runs] == [Status.SUCCEEDED] * 3


def effects() -> list[str]:
    """All effects of the whole chain, in order."""
    with a_world() as world:
        counted = Faults()
        a_chain(world).execute(counted)
        return counted.seen


ATTEMPT = ("take place", "move to RUNNING", "move to SUCCEEDED", "give place back")
EFFECTS = [*ATTEMPT, "move to DISPATCHED", "delete", *ATTEMPT, "move to DISPATCHED", *ATTEMPT]


def test_the_effects_of_a_chain_are_all_known() -> None:
    assert effects() == EFFECTS


POINTS = [(at, fault) for at in range(len(EFFECTS)) for fault in Fault if fault is not Fault.MEANWHILE]


@pytest.mark.parametrize(("at", "fault"), POINTS, ids=[f"{fault} {EFFECTS[at]} ({at})" for at, fault in POINTS])
def test_a_fault_at_each_point_loses_no_run_and_leaks_no_place(chain: Chain, at: int, fault: Fault) -> None:
    """The dead worker's message is gone too, so that only ticks find its runs."""
    faults = Faults(at, fault)
    received, verdict = chain.execute(faults)
    assert len(faults.seen) > at, "the fault was never reached"
    if verdict is None or isinstance(verdict, Done):
        chain.world.queues.delete(received)
    else:
        chain.world.queues.hide(received, verdict.after_ms)
    chain.simulation.let_pass(LEASE_SECONDS + 5 * 60)
    assert [chain.simulation.status(run) for run in chain.runs] == [Status.SUCCEEDED] * len(chain.runs)
    assert chain.holders() == 0
    lost = sum(chain.simulation.stored(run).losses for run in chain.runs)
    assert len(chain.calls) <= len(chain.runs) + lost


def test_the_first_message_delivered_again_during_the_chain_changes_nothing(chain: Chain) -> None:
    received = chain.received()

    def deliver_again() -> None:
        chain.world.queues.send([received.message], Deadline.after(chain.world.clock.now(), 1_000))
        chain.simulation.work()

    chain.during[2] = deliver_again
    worker = RunExecutor(chain.world.engine, chain, NoLeases(), "worker", random.Random(1))
    assert execute_run(worker, received) == Done("succeeded")
    assert sorted(chain.calls) == sorted(run.run_id for run in chain.runs)
