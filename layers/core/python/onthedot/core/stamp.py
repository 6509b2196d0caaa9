"""Stamp the runs of recurring jobs: store the stamps, advance the jobs, send the runs."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.engine import Core
from onthedot.core.errors import Unavailable, Unreadable
from onthedot.core.find_pool import has_pool
from onthedot.core.ids import fresh_generation, job_id_of
from onthedot.core.moves import Expect, Move, applied
from onthedot.core.outcomes import Outcome, current_record, is_record_written, is_written
from onthedot.core.ports import Deadline, Moved, Page, Refused, Undecided
from onthedot.core.records import Kind, Record, Status
from onthedot.core.send import send_runs
from onthedot.core.set_aside import UNHANDLED, fault_of, faults_of
from onthedot.core.slots import DECISION_MS, Deployment, fire_slot, shard_of
from onthedot.core.stamping import Stamping, has_missed, plan_stamps, repair, skipped_range

FIRST_PAGE: Final = 50
"""Records in the first page of a job. Most jobs have few after their position."""
RECORDS_PER_PAGE: Final = 500
UNDO_MS: Final = 5_000
"""The time for a repair. The dispatcher that needs one is slow, so its own time may be over."""


@dataclass(slots=True)
class Stamped:
    left: list[str] = field(default_factory=list)
    """The jobs that stay in their slots for the next tick."""
    faults: dict[str, str] = field(default_factory=dict)
    """The jobs that cannot be read or handled, with the reasons. The claim pass sets them aside."""
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Chunk:
    """Some jobs with their plans, which must be stored before the deadline."""

    engine: Core
    deadline: Deadline
    result: Stamped
    plans: dict[str, tuple[Record, Stamping]] = field(default_factory=dict)
    waiting: dict[str, list[Record]] = field(default_factory=dict)
    """For each job whose stamps are all stored, the runs that wait to be sent."""


def store_stamps(chunk: Chunk) -> list[Record]:
    """Store the stamps and advance the jobs. Return the runs that may be sent."""
    chunk.waiting = {job_id: [] for job_id in chunk.plans}
    if not chunk.deadline.allows(chunk.engine.clock.now()):
        chunk.result.left += chunk.plans
        return []
    _move(chunk, _put(chunk))
    advanced = _advance(chunk)
    return [run for job_id in advanced for run in chunk.waiting[job_id]]


def records_since(engine: Core, job: Record, deadline: Deadline) -> Page[Record]:
    """Read the job's records from its position on, and some before it. Raise Unavailable when time runs out."""
    records: list[Record] = []
    unreadable: list[Unreadable] = []
    cursor: str | None = None
    while deadline.allows(engine.clock.now()):
        page = engine.store.runs_of(job.job_id, RECORDS_PER_PAGE if cursor else FIRST_PAGE, cursor)
        records += page.items
        unreadable += page.unreadable
        cursor = page.cursor
        if cursor is None or (records and records[-1].fire_time < job.due_at):
            return Page(records, None, unreadable)
    raise Unavailable(f"the records of {job.run_id} were not read in time")


def _put(chunk: Chunk) -> list[tuple[Record, Record]]:
    records = [record for _, plan in chunk.plans.values() for record in (*plan.skipped, *plan.runs)]
    outcomes = chunk.engine.store.create_many(records, chunk.deadline) if records else []
    to_revive = []
    for record, outcome in zip(records, outcomes, strict=True):
        if isinstance(outcome, Moved):
            chunk.result.counts["skipped" if record.status is Status.SKIPPED else "stamped"] += 1
        stored = record if isinstance(outcome, Moved) else _refusing(outcome)
        if isinstance(outcome, Refused) and outcome.unreadable is not None:
            continue  # the time has its record, which a version that can read it handles
        if stored is None:
            _leave(chunk, record.job_id, outcome)
        elif record.kind is Kind.SKIPPED_RANGE and stored.skipped_until != record.skipped_until:
            _lose(chunk, record.job_id)  # another dispatcher skips other times, and the next plan must know them
            _leave(chunk, record.job_id)
        elif stored.kind is Kind.STAMPED and stored.status is Status.SKIPPED and lifecycle.may_be_revived(stored):
            to_revive.append((stored, record))
        else:
            _wait_to_be_sent(chunk, stored)
    return to_revive


def _leave(chunk: Chunk, job_id: str, outcome: Outcome | None = None) -> None:
    if chunk.waiting.pop(job_id, None) is None:
        return
    if outcome is not None and (why := fault_of(outcome)) is not None:
        chunk.result.faults[job_id] = why
    else:
        chunk.result.left.append(job_id)


def _wait_to_be_sent(chunk: Chunk, run: Record) -> None:
    if run.status is Status.DISPATCHED and run.attempt == 0 and run.job_id in chunk.waiting:
        chunk.waiting[run.job_id].append(run)


def _move(chunk: Chunk, to_revive: Sequence[tuple[Record, Record]]) -> None:
    """Apply the moves of stamps that exist. A run that refuses was moved meanwhile, and that decides."""
    ends = [end for job_id in chunk.waiting for end in chunk.plans[job_id][1].ends]
    now, deployment = chunk.engine.clock.now(), chunk.engine.deployment
    # The runs were skipped because of a pause or a change, and now the job has their times again.
    revived = [
        (run, lifecycle.revive(run, stamp, now, generation=fresh_generation(), deployment=deployment))
        for run, stamp in to_revive
        if run.job_id in chunk.waiting
    ]
    moves = [*ends, *(move for _, move in revived)]
    outcomes = chunk.engine.store.move_many(moves, chunk.deadline) if moves else []
    for move, outcome in zip(moves, outcomes, strict=True):
        if isinstance(outcome, Undecided):
            _leave(chunk, job_id_of(move.run_id), outcome)
    chunk.result.counts["skipped"] += sum(isinstance(outcome, Moved) for outcome in outcomes[: len(ends)])
    for (run, move), outcome in zip(revived, outcomes[len(ends) :], strict=True):
        written = applied(run, move)
        stored = written if is_record_written(written, outcome) else _refusing(outcome)
        if stored is not None:
            _wait_to_be_sent(chunk, stored)


def _refusing(outcome: Outcome) -> Record | None:
    return outcome.current if isinstance(outcome, Refused) else None


def _advance(chunk: Chunk) -> list[str]:
    plans = {job_id: chunk.plans[job_id][1] for job_id in chunk.waiting}
    moves = [plan.advance for plan in plans.values()]
    outcomes = chunk.engine.store.move_many(moves, chunk.deadline) if moves else []
    advanced = []
    for (job_id, plan), outcome in zip(plans.items(), outcomes, strict=True):
        if (why := fault_of(outcome, plan.advance)) is not None:
            chunk.result.faults[job_id] = why
        elif isinstance(outcome, Undecided):
            _leave(chunk, job_id, outcome)
        elif is_written(outcome, lambda current: _is_past(current, plan)):  # noqa: B023
            if isinstance(outcome, Refused):
                _lose(chunk, job_id)
            advanced.append(job_id)
        else:
            # The job was paused, changed or deleted in between. The start of its stamped runs, or the sweep, decides
            # about them.
            chunk.result.counts["overtaken"] += 1
    chunk.result.counts["advanced"] += len(advanced)
    return advanced


def _is_past(current: Record, plan: Stamping) -> bool:
    """Return whether the job is past these times under the same schedule, by this dispatcher or by another one."""
    if current.schedule_version != plan.advance.expect.equals["schedule_version"]:
        return False
    passed = current.due_at > plan.advance.expect.equals["due_at"]
    return (current.status is Status.ACTIVE and passed) or current.status is Status.COMPLETED


def _lose(chunk: Chunk, job_id: str) -> None:
    """Undo the double outcomes of this plan and another dispatcher's. This costs a read only if times were missed."""
    job, plan = chunk.plans[job_id]
    if not has_missed(job, chunk.engine.clock.now() + lifecycle.CLOCK_MARGIN_MS):
        return  # by no dispatcher's clock a time was missed, so both plans run the same times
    try:
        undone = _undo(chunk, job, plan)
    except Unavailable:
        undone = {run.run_id for run in plan.runs}  # not known to be good, so the sweep sends them
    if job_id in chunk.waiting:
        chunk.waiting[job_id] = [run for run in chunk.waiting[job_id] if run.run_id not in undone]


def _undo(chunk: Chunk, job: Record, plan: Stamping) -> set[str]:
    store, now = chunk.engine.store, chunk.engine.clock.now()
    deadline = Deadline.after(now, UNDO_MS)
    records = records_since(chunk.engine, job, deadline).items
    undo = repair(job, plan, records, now, chunk.engine.deployment)
    if undo.ranges:
        store.create_many(undo.ranges, deadline)
    if undo.moves:
        store.move_many(undo.moves, deadline)
    chunk.result.counts["repaired"] += len(undo.moves)
    return {move.run_id for move in undo.moves}


JOBS_PER_READ: Final = 100
WRITES_PER_CHUNK: Final = 400
"""The most writes of a chunk before its jobs advance. A job with more is a chunk of its own."""
PLANNING_MS: Final = 5_000
"""Longest time to plan a chunk. Reading the records of a job with missed times takes time."""
SENDING_MS: Final = 3_000
"""The time to send the runs of a chunk, even after the deadline. Callers spare more than this."""
_RECURRING: Final = (Status.ACTIVE, Kind.RECURRING)

IsOpen = Callable[[Record], bool]


@dataclass(slots=True)
class _Work:
    engine: Core
    claim_token: str
    deadline: Deadline
    is_open: IsOpen
    until: int | None
    result: Stamped = field(default_factory=Stamped)

    def has_time(self) -> bool:
        return self.deadline.allows(self.engine.clock.now())


def stamp_jobs(  # noqa: PLR0917
    engine: Core,
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

    def is_unflagged(run: Record) -> bool:
        return not engine.points.is_queue_closed(engine, run.pool, run.priority)

    work = _Work(engine, claim_token, deadline, is_open or is_unflagged, until)
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


def _stamp_in_chunks(work: _Work, jobs: deque[Record]) -> None:
    while jobs and work.has_time():
        chunk = _plan_chunk(work, jobs)
        to_send = store_stamps(chunk)
        unsent = _send(work, to_send)
        work.result.counts.update(sent=len(to_send) - unsent, unsent=unsent)
    work.result.left += [job.run_id for job in jobs]


def _send(work: _Work, runs: Sequence[Record]) -> int:
    """Send the runs, even if time has just run out, because the jobs have advanced. Return how many are unsent."""
    deadline = Deadline(max(work.deadline.at, work.engine.clock.now() + SENDING_MS))
    try:
        return send_runs(work.engine, runs, deadline) if runs else 0
    except Unavailable:
        return len(runs)


def _plan_chunk(work: _Work, jobs: deque[Record]) -> Chunk:
    engine, now = work.engine, work.engine.clock.now()
    chunk = Chunk(engine, work.deadline.at_most(now + DECISION_MS), work.result)
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
    """Plan one job. A job for which this fails is left, with the reason, and does not stop the others."""
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
    slot = fire_slot(shard_of(run.job_id, work.engine.deployment.shards), run.due_at, now)
    return replace(run, status=Status.PENDING, slot=slot, claim_token=None)


_LIVE: Final = (Status.ACTIVE, Status.PAUSED)


def store_given_up(engine: Core, job: Record) -> Record:
    """Store the range of the times that the job has given up, if any, and return the job without them.

    The API calls this after the change. Dispatchers, and a client that changes the job next, call it again if the
    process died there. Raise Unavailable.
    """
    if job.given_up is None:
        return job
    now = engine.clock.now()
    engine.store.create(given_up_range(job, now, engine.deployment))
    return current_record(engine.store.move(_without_times(job, now, engine.deployment))) or job


def given_up_range(job: Record, now: int, deployment: Deployment) -> Record:
    first, last, count = (int(number) for number in (job.given_up or "").split())
    what = "changed" if job.status in _LIVE else "stopped"
    why = f"the job was {what} before these missed times were settled"
    return skipped_range(job, [first, last], why, now, deployment, count)


def _without_times(job: Record, now: int, deployment: Deployment) -> Move:
    """Take the given-up times out of the job, because their range is stored, and put the job where it belongs."""
    shard = shard_of(job.job_id, deployment.shards)
    slot = fire_slot(shard, job.due_at, now) if job.status is Status.ACTIVE else None
    expect = Expect(frozenset({job.status}), {"given_up": job.given_up, "due_at": job.due_at})
    return Move(job.run_id, expect, job.status, {"given_up": None, "slot": slot})
