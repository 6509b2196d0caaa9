"""The whole scheduler in one process and in virtual time: planner, dispatchers, queues, workers and a target."""

import random
import sys
from collections import Counter
from dataclasses import dataclass, field, replace

from onthedot.core.attempt import RunExecutor, execute_run
from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.errors import Unavailable
from onthedot.core.pools import PoolKind
from onthedot.core.ports import Answer, Call, Deadline
from onthedot.core.records import Definition, Record, Status
from onthedot.core.schema import DEFAULT_POOL, PRIORITIES
from onthedot.core.shards import ServedShards
from onthedot.core.slots import BUCKET_MS, queue_key
from onthedot.core.start import Done, Verdict
from onthedot.core.tick import dispatch_due, must_be_redelivered, plan_ticks
from onthedot.engine import Engine
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import HttpTarget
from onthedot.testing.scheduler import NoLeases as NoLeases  # noqa: PLC0414 - other kits import it from here
from tests.builders import World
from tests.scenarios.kits.faults import (
    Crash,
    Faults,
    FaultyQueues,
    FaultyStore,
    faulty_gates,
    faulty_patterns,
    faulty_progress,
)

NEVER = Faults()


@dataclass
class RecordingTarget:
    """Answers as scripted (then with success) and remembers every call."""

    world: World
    answers: list[Answer | type[Crash]] = field(default_factory=list)
    calls: list[tuple[str, int, int]] = field(default_factory=list)

    def perform(self, call: Call) -> Answer:
        self.calls.append((call.run_id, call.attempt, self.world.clock.now()))
        answer = self.answers.pop(0) if self.answers else Answer(ok=True, result="fine")
        if isinstance(answer, Answer):
            return answer
        raise answer("in the target")

    def times_of(self, run_id: str) -> list[int]:
        return [at for called, _, at in self.calls if called == run_id]


class Simulation:
    """Drives a world. Faults are given for single steps; a part that crashes leaves its message in the queue."""

    def __init__(self, world: World, answers: list[Answer | type[Crash]] | None = None) -> None:
        self.world = world
        self.clock = world.clock
        self.target = RecordingTarget(world, answers or [])
        self.counts: Counter[str] = Counter()
        self.verdicts: list[Verdict] = []
        self.crashes = 0
        self.slots_may_fail = False
        self.served = ServedShards(world.shards, world.deployment.shards)
        self.shards_per_group = 16

    def engine(self, faults: Faults) -> Engine:
        return replace(
            self.world.engine,
            store=FaultyStore(self.world.engine.store, faults),
            queues=FaultyQueues(self.world.queues, faults),
            patterns=faulty_patterns(self.world.patterns, faults),
            gates=faulty_gates(self.world.gates, faults),
        )

    def submit(self, delay_s: float, *, faults: Faults = NEVER, key: str | None = None, retries: int = 3) -> Record:
        policy = RetryPolicy(max_retries=retries, jitter=False)
        request = JobRequest(
            definition=Definition(HttpTarget("http://x/"), payload={"n": 1}, retry=policy),
            fingerprint=f"{delay_s}",
            priority=Priority.MEDIUM,
            pool=DEFAULT_POOL,
            delay_ms=round(delay_s * 1000),
            idempotency_key=key,
        )
        return submit_job(self.engine(faults), "acme", request)

    def plan_ticks(self) -> None:
        shards = self.served.count()
        plan_ticks(self.world.ticks, self.clock, shards=shards, shards_per_group=self.shards_per_group)

    def dispatch(self, faults: Faults = NEVER, *, no_time: bool = False) -> None:
        """Take what ticks are visible; one whose dispatcher dies, or could not send all, stays in the queue."""
        for received in self.world.ticks.receive_ticks(10):
            progress = faulty_progress(self.world.progress, faults)
            deadline = Deadline.after(self.clock.now(), 0 if no_time else 80_000)
            try:
                counts = dispatch_due(self.engine(faults), progress, received.tick, deadline)
            except (Unavailable, Crash):
                self.crashes += 1
                continue
            self.counts.update(counts)
            # A tick goes around errors. One that no test wanted must not pass unseen.
            assert self.slots_may_fail or faults is not NEVER or not counts["slot_failed"], counts
            if not must_be_redelivered(received.tick, counts):
                self.world.ticks.delete_tick(received)

    def work(self, faults: Faults = NEVER) -> None:
        """Execute what messages are visible; one whose worker dies stays in the queue."""
        worker = RunExecutor(self.engine(faults), self.target, NoLeases(), "worker", random.Random(1))
        queues = self.world.queues
        batch = [one for pool, priority in self._served() for one in self.world.received(priority, pool)]
        # Workers hold messages side by side; one after another, the earliest must come first.
        for received in sorted(batch, key=lambda one: one.message.due_at):
            try:
                verdict = execute_run(worker, received)
            except Crash:
                self.crashes += 1
                continue
            self.verdicts.append(verdict)
            if isinstance(verdict, Done):
                queues.delete(received)
            else:
                queues.hide(received, verdict.after_ms)

    def let_pass(self, seconds: float, *, ticking: bool = True) -> None:
        """From one moment that matters to the next: a message that becomes visible, and a tick each minute.

        Messages that are visible and stay in their queues, since a batch has no room or a worker died, come a second
        later.
        """
        until = self.clock.now() + round(seconds * 1000)
        while True:
            self.dispatch()
            if self._first_visible(self._queues()) <= self.clock.now():
                self.work()
            before = self.clock.now()
            if before >= until:
                return
            second, minute = before - before % 1000 + 1000, (before // BUCKET_MS + 1) * BUCKET_MS
            message = self._first_visible(["ticks", *self._queues()])
            moment = second if message <= before else min(message, until - until % -1000)
            self.clock.sleep_until(min(moment, minute) if ticking else moment)
            if ticking and before // BUCKET_MS != self.clock.now() // BUCKET_MS:
                self.plan_ticks()

    def _first_visible(self, queues: list[str]) -> int:
        """Return when the first message of these queues becomes, or became, visible."""
        query = f"SELECT min(visible_at) FROM messages WHERE queue IN ({', '.join('?' * len(queues))})"
        with self.world.database.transaction() as connection:
            found: int | None = connection.execute(query, queues).fetchone()[0]
        return sys.maxsize if found is None else found

    def _queues(self) -> list[str]:
        return [queue_key(pool, priority) for pool, priority in self._served()]

    def _served(self) -> list[tuple[str, Priority]]:
        """The queues that feed workers by themselves."""
        pushed = (pool.name for pool in self.world.deployment.pools.all if pool.kind is PoolKind.PUSH)
        return [(pool, priority) for pool in pushed for priority in PRIORITIES]

    def status(self, run: Record) -> Status:
        return self.stored(run).status

    def stored(self, run: Record) -> Record:
        found = self.world.store.get(run.run_id)
        assert found is not None, f"{run.run_id} is gone"
        return found
