"""Jobs that wait for others, in a simulated world where each job's fate is known beforehand."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from onthedot.core.choices import OnParentFailure, Priority, RetryPolicy
from onthedot.core.ports import Answer, Call
from onthedot.core.records import TERMINAL, Definition, Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import HttpTarget
from tests.builders import World
from tests.scenarios.kits.faults import Faults
from tests.scenarios.kits.simulation import NEVER, Simulation

BROKEN = Answer(ok=False, error="broken", retryable=False)


@dataclass
class FatefulTarget:
    """Jobs that are doomed fail; all starts and ends are remembered."""

    world: World
    doomed: set[str] = field(default_factory=set)
    started: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def perform(self, call: Call) -> Answer:
        self.started[call.run_id].append(self.world.clock.now())
        return BROKEN if call.run_id in self.doomed else Answer(ok=True, result=f"of {call.run_id}")


class Family(Simulation):
    """A simulation of jobs with parents."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.fates = FatefulTarget(world)
        self.target = self.fates  # type: ignore[assignment]
        self.chance = random.Random(1)

    def job(
        self,
        *parents: Record,
        policy: OnParentFailure = OnParentFailure.FAIL,
        doomed: bool = False,
        delay_s: float = 0,
        key: str | None = None,
        faults: Faults = NEVER,
    ) -> Record:
        request = self.request(*parents, policy=policy, delay_s=delay_s, key=key)
        run = submit_job(self.engine(faults), "acme", request)
        if doomed:
            self.fates.doomed.add(run.run_id)
        return run

    def request(
        self,
        *parents: Record,
        policy: OnParentFailure = OnParentFailure.FAIL,
        delay_s: float = 0,
        key: str | None = None,
    ) -> JobRequest:
        return JobRequest(
            definition=Definition(HttpTarget("http://x/"), retry=RetryPolicy(jitter=False)),
            fingerprint="same",
            priority=Priority.MEDIUM,
            pool=DEFAULT_POOL,
            delay_ms=round(delay_s * 1000),
            idempotency_key=key,
            parents=tuple(parent.run_id for parent in parents),
            on_parent_failure=policy,
        )

    def statuses(self, runs: Sequence[Record]) -> list[Status]:
        return [self.status(run) for run in runs]

    def check_promises(self, runs: Sequence[Record]) -> None:
        """Check that each job ended with a reason, none began before its parents ended, all children are notified."""
        ends = {run.run_id: self.stored(run) for run in runs}
        for end in ends.values():
            assert end.status in TERMINAL, f"{end.run_id} is {end.status}"
            assert (end.slot, end.notify_pending, end.waits_for) == (None, None, frozenset()), end
            assert end.expires_at is not None
            if end.status not in (Status.CANCELLED, Status.DELETED):
                self._check_against_parents(end, [ends[parent] for parent in end.parents])

    def _check_against_parents(self, end: Record, parents: Sequence[Record]) -> None:
        good = all(parent.status is Status.SUCCEEDED for parent in parents)
        if not good and end.on_parent_failure != OnParentFailure.RUN:
            expected = Status.SKIPPED if end.on_parent_failure == OnParentFailure.SKIP else Status.FAILED
            assert (end.status, end.attempt) == (expected, 0), end
            assert "parent" in (end.reason or "")
            return
        doomed = end.run_id in self.fates.doomed
        assert end.status is (Status.FAILED if doomed else Status.SUCCEEDED), end
        last = max((parent.finished_at or 0 for parent in parents), default=0)
        assert self.fates.started[end.run_id][0] >= last, "it began before its parents' end"
