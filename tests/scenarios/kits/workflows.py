"""Workflows in a simulated world where the fate of each job is known beforehand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from onthedot.core.choices import OnParentFailure, Priority, RetryPolicy
from onthedot.core.errors import Unavailable
from onthedot.core.ids import node_job_id
from onthedot.core.ports import Answer, Call
from onthedot.core.records import Definition, Record, Status
from onthedot.engine import Engine
from onthedot.jobs.submit import JobRequest
from onthedot.schedules.schedule import Recurrence
from onthedot.targets.types import HttpTarget, WorkflowTarget
from onthedot.workflows.members import Member
from onthedot.workflows.start import WorkflowStarter
from onthedot.workflows.submit import submit_workflow
from tests.builders import World
from tests.scenarios.kits.family import Family
from tests.scenarios.kits.faults import Faults
from tests.scenarios.kits.simulation import NEVER

PLAIN = Definition(HttpTarget("http://x/"), retry=RetryPolicy(jitter=False))


def a_member(key: str, *depends_on: str, policy: OnParentFailure = OnParentFailure.FAIL, **fields: Any) -> Member:
    return Member(key, depends_on, PLAIN, on_parent_failure=policy, **fields)


DIAMOND = (a_member("top"), a_member("left", "top"), a_member("right", "top"), a_member("bottom", "left", "right"))


class Clan(Family):
    """A family whose workers make graphs too."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.target = self  # type: ignore[assignment]
        self._at_work = self.engine(NEVER)
        self.refusals: list[Answer] = []
        """What making a graph answers instead of trying, one after the other."""
        self.made = 0

    def work(self, faults: Faults = NEVER) -> None:
        self._at_work = self.engine(faults)
        super().work(faults)

    def perform(self, call: Call) -> Answer:
        if not isinstance(call.definition.target, WorkflowTarget):
            return self.fates.perform(call)
        self.made += 1
        return self.refusals.pop(0) if self.refusals else WorkflowStarter(self._at_work).perform(call)

    def workflow(
        self,
        members: Sequence[Member],
        *,
        recurrence: Recurrence | None = None,
        delay_s: float = 0,
        doomed: Sequence[str] = (),
        key: str | None = None,
        within: int | None = None,
    ) -> Record:
        request = JobRequest(
            definition=Definition(WorkflowTarget()),
            fingerprint="same",
            priority=Priority.MEDIUM,
            recurrence=recurrence,
            delay_ms=None if recurrence is not None else round(delay_s * 1000),
            idempotency_key=key,
            record={"start_within_seconds": within},
        )
        job = submit_workflow(self.world.engine, "acme", request, members)
        self.fates.doomed |= {node_job_id(job.run_id, key) for key in doomed}
        return job

    def jobs_of(self, run: Record, members: Sequence[Member]) -> dict[str, Record]:
        """Return the jobs that exist, by key."""
        found = {member.key: self.world.store.get(node_job_id(run.run_id, member.key)) for member in members}
        return {key: job for key, job in found.items() if job is not None}

    def states(self, run: Record, members: Sequence[Member]) -> Mapping[str, Status]:
        return {key: job.status for key, job in self.jobs_of(run, members).items()}

    def check_graph(self, run: Record, members: Sequence[Member]) -> None:
        """It is whole, and each job ended as its parents and its own fate decide."""
        jobs = self.jobs_of(run, members)
        assert set(jobs) == {member.key for member in members}
        self.check_promises(list(jobs.values()))

    def check_given_up(self, run: Record, members: Sequence[Member]) -> None:
        """Its run did not make it: every job has ended anyway, once, with a reason that says why."""
        maker = self.stored(run)
        assert (maker.slot, maker.notify_pending) == (None, None)
        assert maker.expires_at is not None
        jobs = self.jobs_of(run, members)
        assert set(jobs) == {member.key for member in members}
        for job in jobs.values():
            assert job.status in (Status.FAILED, Status.CANCELLED, Status.SKIPPED), job
            assert (job.slot, job.notify_pending, job.waits_for) == (None, None, frozenset()), job
            assert "its workflow" in (job.reason or ""), job.reason  # its own, or by way of a parent

    def without_blobs(self) -> Engine:
        """Return the engine as the dispatcher has it, which reads no payloads."""
        return replace(self.world.engine, blobs=_NoBlobs())


class _NoBlobs:
    """As the dispatcher has them."""

    def put(self, key: str, content: bytes) -> None:
        raise Unavailable("no blobs here")

    def get(self, key: str) -> bytes | None:
        raise Unavailable("no blobs here")

    def link(self, key: str, seconds: int) -> str | None:
        return None
