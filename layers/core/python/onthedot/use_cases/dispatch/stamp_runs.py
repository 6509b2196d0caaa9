"""Stamp the runs of recurring jobs: put them if absent, advance the jobs, send the runs that have not started.

The order makes it safe. A run is stamped before its job moves past its time, so no time is lost. The run's id comes
from its time, so no time is doubled. A run is sent only when a dispatcher, this one or another, has moved the job past
it.

The jobs are handled in chunks, each with its own present, so that under any load the first ones advance. An advanced
job has left its slot, and the next tick goes on with the others.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.runs.slots import DECISION_MS, fire_slot, shard_of
from onthedot.domain.runs.stamping import Stamping, has_missed, plan_stamps
from onthedot.ports import Deadline, Engine, Page
from onthedot.use_cases.dispatch.find_pool import has_pool
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.dispatch.set_aside import UNHANDLED, faults_of
from onthedot.use_cases.dispatch.store_stamps import Chunk, records_since, store_stamps
from onthedot.use_cases.gates.queue_lists import is_queue_closed
from onthedot.use_cases.jobs.given_up import store_given_up

JOBS_PER_READ: Final = 100
WRITES_PER_CHUNK: Final = 400
"""Most writes of a chunk before its jobs advance. A job with more is a chunk of its own."""
PLANNING_MS: Final = 5_000
"""Longest time to plan a chunk. Reading the records of a job with missed times takes time."""
SENDING_MS: Final = 3_000
"""The time to send the runs of a chunk, even after the deadline. Callers spare more than this."""
_RECURRING: Final = (Status.ACTIVE, Kind.RECURRING)

IsOpen = Callable[[Record], bool]
"""Returns whether the queue of a run takes runs now."""


@dataclass(slots=True)
class Stamped:
    """The result of stamping some jobs."""

    left: list[str] = field(default_factory=list)
    """The jobs that were left in their slots for the next tick."""
    faults: dict[str, str] = field(default_factory=dict)
    """The jobs that cannot be read or handled, with the reasons. The claim pass sets them aside."""
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def whole(self) -> bool:
        """Whether no job was left."""
        return not self.left


@dataclass(slots=True)
class _Work:
    """A stamping of many jobs while it is under way."""

    engine: Engine
    claim_token: str
    deadline: Deadline
    is_open: IsOpen
    until: int | None
    result: Stamped = field(default_factory=Stamped)

    def has_time(self) -> bool:
        return self.deadline.allows(self.engine.clock.now())


def stamp_jobs(  # noqa: PLR0917
    engine: Engine,
    job_ids: Sequence[str],
    claim_token: str,
    deadline: Deadline,
    is_open: IsOpen | None = None,
    until: int | None = None,
) -> Stamped:
    """Stamp the runs of these jobs up to the horizon, or to `until` if that is later.

    A job whose stamps are undecided, or for which there is no time, stays in its fire slot. Jobs with missed times come
    last. A near run whose queue is not open is stamped into its fire slot, where the claim pass decides about it. By
    default, the flags of the queues say which are open.
    """
    work = _Work(engine, claim_token, deadline, is_open or _is_not_closed(engine), until)
    behind: deque[Record] = deque()
    for first in range(0, len(job_ids), JOBS_PER_READ):
        if not work.has_time():
            work.result.left += job_ids[first:]
            break
        read = engine.store.get_many(job_ids[first : first + JOBS_PER_READ], deadline)
        work.result.left += read.unread
        work.result.faults |= faults_of(read.unreadable.values())
        active = [job for job in read.found.values() if (job.status, job.kind) == _RECURRING]
        now = engine.clock.now()
        behind += (job for job in active if has_missed(job, now))
        _stamp_in_chunks(work, deque(job for job in active if not has_missed(job, now)))
    _stamp_in_chunks(work, behind)
    return work.result


def _is_not_closed(engine: Engine) -> IsOpen:
    return lambda run: not is_queue_closed(engine, run.pool, run.priority, engine.clock.now())


def _stamp_in_chunks(work: _Work, jobs: deque[Record]) -> None:
    while jobs and work.has_time():
        chunk = _plan_chunk(work, jobs)
        to_send = store_stamps(chunk)
        work.result.left += chunk.left
        work.result.faults |= chunk.faults
        unsent = _send(work, to_send)
        work.result.counts.update(chunk.counts, sent=len(to_send) - unsent, unsent=unsent)
    work.result.left += [job.run_id for job in jobs]


def _send(work: _Work, runs: Sequence[Record]) -> int:
    """Send the runs. Return how many could not be sent. A queue that fails does not stop the other jobs.

    The jobs have advanced, so the runs are sent even if the time is over just now.
    """
    deadline = Deadline(max(work.deadline.at, work.engine.clock.now() + SENDING_MS))
    try:
        return send_runs(work.engine, runs, deadline) if runs else 0
    except Unavailable:
        return len(runs)


def _plan_chunk(work: _Work, jobs: deque[Record]) -> Chunk:
    """Take jobs off the queue and plan them, as many as one chunk may have."""
    engine, now = work.engine, work.engine.clock.now()
    chunk = Chunk(engine, work.deadline.at_most(now + DECISION_MS))
    writes = 0
    while jobs and engine.clock.now() - now < PLANNING_MS:
        plan = _plan(work, jobs[0], now)
        writes += plan.writes if plan else 0
        if chunk.plans and writes > WRITES_PER_CHUNK:
            break
        job = jobs.popleft()
        if plan is not None:
            runs = tuple(_with_slot(work, run, now) for run in plan.runs)
            chunk.plans[job.run_id] = (job, replace(plan, runs=runs))
    return chunk


def _plan(work: _Work, job: Record, now: int) -> Stamping | None:
    """Plan one job. A job for which this fails is left, with the reason, and stops no other."""
    engine = work.engine
    try:
        job = store_given_up(engine, job)
        known = records_since(engine, job, work.deadline) if has_missed(job, now) else Page([], None)
        return plan_stamps(
            job,
            now=now,
            claim_token=work.claim_token,
            deployment=engine.deployment,
            until=work.until,
            existing=known.items,
            unreadable=[record.run_id for record in known.unreadable],
        )
    except Unavailable:
        work.result.left.append(job.run_id)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with this job, the others must go on
        work.result.faults[job.run_id] = f"{UNHANDLED}{type(error).__name__}: {error}"
    return None


def _with_slot(work: _Work, run: Record, now: int) -> Record:
    """Return the run as it is placed: a run whose queue is not open, or whose pool is gone, waits in a fire slot."""
    if run.status is not Status.DISPATCHED or (has_pool(work.engine, run) and work.is_open(run)):
        return run
    slot = fire_slot(shard_of(run.job_id, work.engine.deployment.shards), run.fire_at, now)
    return replace(run, status=Status.PENDING, slot=slot, claim_token=None)
