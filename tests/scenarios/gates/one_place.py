"""Runs at a gate with one place, step by step, with a fault at any effect of a step."""

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from onthedot.core import lifecycle
from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.errors import Unavailable
from onthedot.core.finish import finish_run
from onthedot.core.gate_names import GateId
from onthedot.core.ports import Answer, Received
from onthedot.core.records import Definition, Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.slots import BUCKET_MS, Deployment
from onthedot.core.start import Done, Started, Verdict, start_run
from onthedot.gates.limits import GateLimits
from onthedot.gates.state import GateState
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import HttpTarget
from tests.builders import World, a_world
from tests.scenarios.gates.checks import IN_FORCE_MS, Checks
from tests.scenarios.kits.faults import Crash, Faults
from tests.scenarios.kits.gate_journal import Journal
from tests.scenarios.kits.simulation import NEVER, Simulation

ONE_SHARD = Deployment(shards=1, lookahead=3, history_days=7)
GATE = GateId("acme", "stripe")


@dataclass
class OnePlace:
    world: World
    simulation: Simulation
    journal: Journal
    runs: list[Record] = field(default_factory=list)
    messages: dict[str, Received] = field(default_factory=dict)

    def limit(self, in_flight: int) -> None:
        """Set the limit, and let the time pass until it is in force."""
        now = self.simulation.clock.now()
        self.world.gates.put(GATE.tenant, GATE.name, GateLimits(in_flight=in_flight, put_at=now))
        self.simulation.clock.advance(IN_FORCE_MS / 1000 + 1)

    def submit(self, priority: Priority = Priority.MEDIUM, gates: tuple[str, ...] = (GATE.name,)) -> Record:
        """Submit a run that is due now, and receive its message."""
        definition = Definition(HttpTarget("http://x/"), retry=RetryPolicy(jitter=False))
        request = JobRequest(definition, "same", priority, DEFAULT_POOL, delay_ms=0, record={"gates": gates})
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
        assert isinstance(self.start(run), Done)
        assert self.simulation.status(run) is Status.PENDING

    def finish(self, started: Started, faults: Faults = NEVER) -> None:
        """Let the worker store the end of the attempt, and delete its message."""
        engine = self.simulation.engine(faults)
        with suppress(Crash, Unavailable):
            finish_run(engine, started.run, started.definition, Answer(ok=True), chance=random.Random(1), patience_ms=0)
            engine.queues.delete(self.messages[started.run.run_id])

    def state(self) -> GateState:
        return self.world.gates.read(GATE)

    def held_by(self) -> list[str]:
        return [holder.run_id for page in self.world.gates.pages(GATE) for holder in page]

    def attempts(self, *runs: Record) -> list[int]:
        return [self.simulation.stored(run).attempt for run in runs]

    def keep(self, *started: Started, minutes: int = 10) -> None:
        """Extend the leases of attempts, as by heartbeats until this time from now."""
        for one in started:
            at = self.simulation.clock.now() + minutes * BUCKET_MS
            self.world.store.move(lifecycle.extend_lease(one.run, at))

    def look(self, faults: Faults = NEVER) -> None:
        """Let time pass until the tick that looks at the gate, and do it."""
        clock = self.simulation.clock
        due = self.state().due_at or 0
        clock.sleep_until(max((clock.now() // BUCKET_MS + 1) * BUCKET_MS, due // BUCKET_MS * BUCKET_MS))
        self.simulation.plan_ticks()
        self.simulation.dispatch(faults)

    def problems(self) -> list[str]:
        """Return the runs that are lost, the places that leak, and the rules that are broken."""
        stored = [self.simulation.stored(run) for run in self.runs]
        lost = [f"{run.run_id} is {run.status}" for run in stored if run.status is not Status.SUCCEEDED]
        flagged = ["the gate is flagged"] if self.state().is_flagged else []
        return [*lost, *(f"{one} has a place" for one in self.held_by()), *flagged, *Checks(self.journal).strict()]

    def let_all_end(self, minutes: int = 25) -> None:
        """Let time pass, and check that all has ended well."""
        self.simulation.let_pass(minutes * 60)
        assert self.problems() == []


@contextmanager
def one_place() -> Iterator[OnePlace]:
    with a_world(ONE_SHARD) as world:
        journal = Journal(world)
        gate = OnePlace(world, Simulation(world), journal)
        gate.limit(1)
        yield gate
