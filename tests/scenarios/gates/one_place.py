"""Runs at a gate with one place, step by step, with a fault at any effect of a step."""

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.names import GateId
from onthedot.domain.gates.state import GateState
from onthedot.domain.runs.records import Definition, Priority, Record, RetryPolicy, Status
from onthedot.domain.targets.types import HttpTarget
from onthedot.ports import Answer, Received
from onthedot.schema import DEFAULT_POOL
from onthedot.use_cases.attempts.finish_run import finish_run
from onthedot.use_cases.attempts.start_run import Done, Started, Verdict, start_run
from onthedot.use_cases.jobs.submit_job import JobRequest, submit_job
from tests.builders import World, a_world
from tests.scenarios.gates.checks import Checks
from tests.scenarios.kits.faults import Crash, Faults
from tests.scenarios.kits.gate_journal import Journal
from tests.scenarios.kits.simulation import NEVER, Simulation

GATE = GateId("acme", "stripe")


@dataclass
class OnePlace:
    """A gate with one place, and the runs that name it."""

    world: World
    simulation: Simulation
    journal: Journal
    runs: list[Record] = field(default_factory=list)
    messages: dict[str, Received] = field(default_factory=dict)

    def submit(self, priority: Priority = Priority.MEDIUM, gates: tuple[str, ...] = (GATE.name,)) -> Record:
        """Submit a run that is due now, and receive its message."""
        definition = Definition(HttpTarget("http://x/"), retry=RetryPolicy(jitter=False))
        request = JobRequest(definition, "same", priority, DEFAULT_POOL, delay_ms=0, gates=gates)
        run = submit_job(self.world.engine, GATE.tenant, request)
        self.runs.append(run)
        self.receive(priority)
        return run

    def receive(self, priority: Priority = Priority.MEDIUM) -> None:
        """Receive the messages that are visible. A run whose worker was lost is in another pool."""
        for pool in (DEFAULT_POOL, "long"):
            for received in self.world.received(priority, pool):
                self.messages[received.message.run_id] = received

    def start(self, run: Record, faults: Faults = NEVER) -> Started | Verdict | None:
        """Let a worker start the run of a message that it has received. None: it died or found a service away."""
        received = self.messages[run.run_id]
        engine = self.simulation.engine(faults)
        try:
            started = start_run(engine, received.message, "worker")
            if isinstance(started, Done):
                engine.queues.delete(received)
        except (Crash, Unavailable):
            return None
        return started

    def started(self, run: Record) -> Started:
        started = self.start(run)
        assert isinstance(started, Started), started
        return started

    def work(self, run: Record) -> None:
        """Let a worker do the run, or put it on the list."""
        started = self.start(run)
        if isinstance(started, Started):
            self.finish(started)

    def waits(self, run: Record) -> None:
        """Let the run find no place."""
        assert isinstance(self.start(run), Done)
        assert self.simulation.status(run) is Status.PENDING

    def finish(self, started: Started, faults: Faults = NEVER) -> None:
        """Let the worker store the end of the attempt, and delete its message."""
        engine = self.simulation.engine(faults)
        with suppress(Crash, Unavailable):
            finish_run(
                engine, started.run, started.definition, Answer(ok=True), chance=random.Random(1), patience_ms=0
            )
            engine.queues.delete(self.messages[started.run.run_id])

    def state(self) -> GateState:
        return self.world.gates.read(GATE)

    def held_by(self) -> list[str]:
        return [holder.run_id for page in self.world.gates.pages(GATE) for holder in page]

    def attempts(self, *runs: Record) -> list[int]:
        return [self.simulation.stored(run).attempt for run in runs]

    def let_all_end(self, minutes: int = 25) -> None:
        """Let time pass, and check that all has ended well: no run is lost, no place leaks, no rule is broken."""
        self.simulation.let_pass(minutes * 60)
        assert {run.run_id: self.simulation.status(run) for run in self.runs} == {
            run.run_id: Status.SUCCEEDED for run in self.runs
        }
        assert self.held_by() == []
        assert not self.state().is_flagged
        assert Checks(self.journal).strict() == []


@contextmanager
def one_place() -> Iterator[OnePlace]:
    with a_world() as world:
        journal = Journal(world)
        world.gates.put(GATE.tenant, GATE.name, GateLimits(in_flight=1))
        yield OnePlace(world, Simulation(world), journal)
