"""Stamp the runs of recurring jobs: put them if absent, advance the jobs, send what has not started.

The order is what makes it safe. A run is stamped before its job moves past it, so no time is lost; its id comes from
its time, so none is doubled; it is sent only when the job has moved past it, by us or by somebody else.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.runs.slots import DECISION_MS
from onthedot.domain.runs.stamping import Stamping, plan_stamps
from onthedot.ports import Deadline, Engine, Moved, Refused, Undecided
from onthedot.use_cases.dispatch.place_run import parked
from onthedot.use_cases.dispatch.send_runs import send_runs

_RECURRING: Final = (Status.ACTIVE, Kind.RECURRING)


@dataclass(slots=True)
class Stamped:
    """`whole`: nothing was left that the next tick must do again."""

    whole: bool = True
    counts: Counter[str] = field(default_factory=Counter)


def stamp_jobs(
    engine: Engine,
    job_ids: Sequence[str],
    claim_token: str,
    deadline: Deadline,
    admits: Callable[[Record], bool] | None = None,
) -> Stamped:
    """Bring these jobs up to the horizon. What is undecided stays in its fire slot.

    Runs that `admits` refuses are stamped to wait for the claim pass; without it, those of who is held back now.
    """
    if admits is None:
        limits = engine.limits.read()
        admits = lambda run: limits.why_throttled(run.tenant, run.pool, run.priority) is None  # noqa: E731
    result = Stamped()
    jobs = engine.store.get_many(job_ids, deadline)
    now = engine.clock.now()
    soon = deadline.at_most(now + DECISION_MS)
    plans: dict[str, Stamping] = {}
    for job_id, job in jobs.items():
        if (job.status, job.kind) == _RECURRING:
            stamping = plan_stamps(job, now=now, claim_token=claim_token, deployment=engine.deployment)
            if stamping is not None:
                runs = tuple(_admitted(engine, run, now, admits) for run in stamping.runs)
                plans[job_id] = replace(stamping, runs=runs)
    waiting = _put(engine, plans, soon, result)
    advanced = _advance(engine, {job_id: plans[job_id] for job_id in waiting}, soon, result)
    to_send = [run for job_id in advanced for run in waiting[job_id]]
    unsent = send_runs(engine, to_send, deadline) if to_send else 0
    result.counts.update(sent=len(to_send) - unsent, unsent=unsent)
    return result


def _admitted(engine: Engine, run: Record, now: int, admits: Callable[[Record], bool]) -> Record:
    return run if run.status is not Status.DISPATCHED or admits(run) else parked(engine, run, now)


def _put(engine: Engine, plans: Mapping[str, Stamping], deadline: Deadline, result: Stamped) -> dict[str, list[Record]]:
    """Stamp. Returns, for each job whose stamps all stand, the runs that wait to be sent."""
    records = [record for deployment in plans.values() for record in (*deployment.skipped, *deployment.runs)]
    outcomes = engine.store.create_many(records, deadline) if records else []
    waiting: dict[str, list[Record]] = {job_id: [] for job_id in plans}
    for record, outcome in zip(records, outcomes, strict=True):
        if isinstance(outcome, Moved):
            result.counts["skipped" if record.status is Status.SKIPPED else "stamped"] += 1
        standing = _standing(engine, record, outcome)
        if isinstance(standing, Undecided):
            result.whole = False
            waiting.pop(record.job_id, None)
        elif standing is not None and record.job_id in waiting:
            waiting[record.job_id].append(standing)
    return waiting


def _standing(engine: Engine, record: Record, outcome: Moved | Refused | Undecided) -> Record | Undecided | None:
    """The run that waits under this id after the put, None if it does not wait."""
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


def _grow(engine: Engine, current: Record, wanted: Record) -> None:
    """A range that an earlier try wrote down shorter."""
    if (wanted.skipped_until or 0) > (current.skipped_until or 0):
        engine.store.move(lifecycle.grow_range(current, wanted.skipped_until, wanted.skipped_count))


def _revived(engine: Engine, current: Record, wanted: Record) -> Record | Undecided | None:
    """The time was skipped because of a pause or a change, and now it is meant to run again."""
    move = lifecycle.revive(
        current, wanted.fire_at, engine.clock.now(), generation=fresh_generation(), deployment=engine.deployment
    )
    outcome = engine.store.move(move)
    if isinstance(outcome, Refused):
        return Undecided("somebody else moved it")
    revived = lifecycle.applied(current, move)
    return revived if revived.status is Status.DISPATCHED else None


def _advance(engine: Engine, plans: Mapping[str, Stamping], deadline: Deadline, result: Stamped) -> list[str]:
    """Move the jobs on. Returns those whose runs may be sent."""
    outcomes = engine.store.move_many([deployment.advance for deployment in plans.values()], deadline) if plans else []
    advanced = []
    for (job_id, deployment), outcome in zip(plans.items(), outcomes, strict=True):
        if isinstance(outcome, Undecided):
            result.whole = False
        elif isinstance(outcome, Moved) or _went_on(outcome.current, deployment):
            advanced.append(job_id)
        else:
            # Paused, changed or deleted in between: its stamps are decided at their start, or by the sweep.
            result.counts["overtaken"] += 1
    result.counts["advanced"] += len(advanced)
    return advanced


def _went_on(current: Record | None, deployment: Stamping) -> bool:
    """Refused, but the job is past these times under the same schedule: another dispatcher, or our own lost reply."""
    if current is None or current.schedule_version != deployment.advance.expect.equals["schedule_version"]:
        return False
    passed = current.fire_at > deployment.advance.expect.equals["fire_at"]
    return (current.status is Status.ACTIVE and passed) or current.status is Status.COMPLETED
