"""Stamp the runs of recurring jobs: put them if absent, advance the jobs, send the runs that have not started.

The order makes it safe. A run is stamped before its job moves past its time, so no time is lost. The run's id comes
from its time, so no time is doubled. A run is sent only when a dispatcher, this one or another, has moved the job past
it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.runs.slots import DECISION_MS
from onthedot.domain.runs.stamping import Stamping, plan_stamps
from onthedot.ports import Deadline, Engine, Moved, Refused, Undecided
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.jobs.given_up import store_given_up
from onthedot.use_cases.jobs.place_job import left_to_claim_pass
from onthedot.use_cases.outcomes import Outcome, is_written

_RECURRING: Final = (Status.ACTIVE, Kind.RECURRING)


@dataclass(slots=True)
class Stamped:
    """The result of stamping some jobs."""

    whole: bool = True
    """Whether no job was left for the next tick."""
    counts: Counter[str] = field(default_factory=Counter)


def stamp_jobs(
    engine: Engine,
    job_ids: Sequence[str],
    claim_token: str,
    deadline: Deadline,
    allows: Callable[[Record], bool] | None = None,
) -> Stamped:
    """Stamp the runs of these jobs up to the horizon. A job whose stamps are undecided stays in its fire slot.

    A near run that `allows` refuses is stamped into its fire slot, to wait for the claim pass. By default, runs of
    tenants and queues that are throttled now are refused.
    """
    if allows is None:
        limits = engine.limits.read()
        allows = lambda run: limits.why_throttled(run.tenant, run.pool, run.priority) is None  # noqa: E731
    result = Stamped()
    jobs = engine.store.get_many(job_ids, deadline)
    now = engine.clock.now()
    soon = deadline.at_most(now + DECISION_MS)
    plans: dict[str, Stamping] = {}
    for job_id, job in _without_given_up(engine, jobs, result):
        if (job.status, job.kind) == _RECURRING:
            stamping = plan_stamps(job, now=now, claim_token=claim_token, deployment=engine.deployment)
            if stamping is not None:
                runs = tuple(_with_slot(engine, run, now, allows) for run in stamping.runs)
                plans[job_id] = replace(stamping, runs=runs)
    waiting = _put(engine, plans, soon, result)
    advanced = _advance(engine, {job_id: plans[job_id] for job_id in waiting}, soon, result)
    to_send = [run for job_id in advanced for run in waiting[job_id]]
    unsent = send_runs(engine, to_send, deadline) if to_send else 0
    result.counts.update(sent=len(to_send) - unsent, unsent=unsent)
    return result


def _without_given_up(engine: Engine, jobs: Mapping[str, Record], result: Stamped) -> Iterator[tuple[str, Record]]:
    """Yield the jobs. First record the times that a job has given up, because the process that changed it died."""
    for job_id, job in jobs.items():
        try:
            yield job_id, store_given_up(engine, job)
        except Unavailable:
            result.whole = False


def _with_slot(engine: Engine, run: Record, now: int, allows: Callable[[Record], bool]) -> Record:
    return run if run.status is not Status.DISPATCHED or allows(run) else left_to_claim_pass(engine, run, now)


def _put(engine: Engine, plans: Mapping[str, Stamping], deadline: Deadline, result: Stamped) -> dict[str, list[Record]]:
    """Store the stamps. Return, for each job whose stamps are all stored, the runs that wait to be sent."""
    records = [record for stamping in plans.values() for record in (*stamping.skipped, *stamping.runs)]
    outcomes = engine.store.create_many(records, deadline) if records else []
    waiting: dict[str, list[Record]] = {job_id: [] for job_id in plans}
    for record, outcome in zip(records, outcomes, strict=True):
        if isinstance(outcome, Moved):
            result.counts["skipped" if record.status is Status.SKIPPED else "stamped"] += 1
        run = _run_to_send(engine, record, outcome)
        if isinstance(run, Undecided):
            result.whole = False
            waiting.pop(record.job_id, None)
        elif run is not None and record.job_id in waiting:
            waiting[record.job_id].append(run)
    return waiting


def _run_to_send(engine: Engine, record: Record, outcome: Outcome) -> Record | Undecided | None:
    """Return the run that is stored under this id after the put. None: it does not wait to be sent."""
    if isinstance(outcome, Undecided):
        return outcome
    if isinstance(outcome, Moved):
        return record if record.status is Status.DISPATCHED else None
    current = outcome.current
    if current is None:
        return Undecided("it went away meanwhile")
    if current.kind is Kind.SKIPPED_RANGE:
        _grow(engine, current, record)
        return None
    if current.status is Status.SKIPPED and lifecycle.may_be_revived(current):
        return _revived(engine, current, record)
    return current if current.status is Status.DISPATCHED and current.attempt == 0 else None


def _grow(engine: Engine, current: Record, stamp: Record) -> None:
    """Extend a range of skipped times that an earlier try stored shorter."""
    if (stamp.skipped_until or 0) > (current.skipped_until or 0):
        engine.store.move(lifecycle.grow_range(current, stamp.skipped_until, stamp.skipped_count))


def _revived(engine: Engine, current: Record, stamp: Record) -> Record | Undecided | None:
    """Schedule a skipped run again.

    It was skipped because of a pause or a change, and now the job has its time again.
    """
    move = lifecycle.revive(
        current, stamp.fire_at, engine.clock.now(), generation=fresh_generation(), deployment=engine.deployment
    )
    outcome = engine.store.move(move)
    if isinstance(outcome, Refused):
        return Undecided("another dispatcher moved it")
    revived = lifecycle.applied(current, move)
    return revived if revived.status is Status.DISPATCHED else None


def _advance(engine: Engine, plans: Mapping[str, Stamping], deadline: Deadline, result: Stamped) -> list[str]:
    """Move the jobs past their stamps. Return those whose runs may be sent."""
    outcomes = engine.store.move_many([stamping.advance for stamping in plans.values()], deadline) if plans else []
    advanced = []
    for (job_id, stamping), outcome in zip(plans.items(), outcomes, strict=True):
        if isinstance(outcome, Undecided):
            result.whole = False
        elif is_written(outcome, lambda current: _is_past(current, stamping)):  # noqa: B023
            advanced.append(job_id)
        else:
            # The job was paused, changed or deleted in between. The start of its stamped runs, or the sweep, decides
            # about them.
            result.counts["overtaken"] += 1
    result.counts["advanced"] += len(advanced)
    return advanced


def _is_past(current: Record, stamping: Stamping) -> bool:
    """Return whether the job is past these times under the same schedule, by this dispatcher or by another one."""
    if current.schedule_version != stamping.advance.expect.equals["schedule_version"]:
        return False
    passed = current.fire_at > stamping.advance.expect.equals["fire_at"]
    return (current.status is Status.ACTIVE and passed) or current.status is Status.COMPLETED
