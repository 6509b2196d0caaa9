"""Redrive dead letters, the runs that failed for good: by id or by filter, at a bounded rate."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.core import lifecycle, patience
from onthedot.core.find_pool import GONE_WHY, why_not_scheduled
from onthedot.core.ids import fresh_generation
from onthedot.core.moves import applied
from onthedot.core.outcomes import is_own, is_record_written
from onthedot.core.ports import Deadline, ReadRecords, Undecided
from onthedot.core.records import Kind, Record, Status
from onthedot.core.send import send_runs
from onthedot.core.start import keep_jobs
from onthedot.engine import Engine
from onthedot.jobs.causes import EVERY, FailureFilter
from onthedot.jobs.dead_letters import matching

PACE_MS: Final = 100
"""Milliseconds between two redriven runs: ten a second, on top of the runs that are due now."""
MOST_AT_ONCE: Final = 1_000
MOST_LOOKED_AT: Final = 5_000
"""The most dead letters that one call looks at."""
PAGE: Final = 100


@dataclass(slots=True)
class Redriven:
    """The result of a redrive."""

    runs: list[Record] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Ids of runs that were not redriven, and why."""
    undecided: list[tuple[str, str]] = field(default_factory=list)
    """Ids of runs that may have been redriven, and why this is not known."""
    cursor: str | None = None
    """The place at which the next call goes on, if there are more. A run that fails again is not behind it."""
    dry: bool = False
    """Whether this was a dry run: `runs` would run again."""


def redrive(engine: Engine, tenant: str, run_ids: Sequence[str], *, dry_run: bool = False) -> Redriven:
    """Refuse each id that is not a dead letter of the tenant, and run the others."""
    asked = list(dict.fromkeys(run_ids))
    deadline = Deadline.after(engine.clock.now(), patience.REQUEST_MS)
    read = engine.store.get_many(asked, deadline)
    result = Redriven(dry=dry_run)
    runs: list[Record] = []
    for run_id in asked:
        run = read.found.get(run_id)
        if run_id in read.unread:
            result.refused.append((run_id, "it cannot be read now; try again"))
        elif run is None or run.tenant != tenant:
            result.refused.append((run_id, "there is no such run"))
        elif run.status is not Status.FAILED:
            result.refused.append((run_id, f"it is {run.status}, not FAILED"))
        else:
            runs.append(run)
    _send_again(engine, runs, result, deadline)
    return result


def redrive_matching(
    engine: Engine, tenant: str, wanted: FailureFilter = EVERY, cursor: str | None = None, *, dry_run: bool = False
) -> Redriven:
    """Run the tenant's dead letters that pass the filter again, the latest first, as many as one call has time for.

    The calls that belong together, by their cursor, see only the runs that had failed when the first one began. So none
    of them redrives a run that another one has redriven.
    """
    now = engine.clock.now()
    deadline = Deadline.after(now, patience.REQUEST_MS)
    until, place = _opened(cursor) if cursor is not None else (min(wanted.window.until, now + 1), None)
    wanted = replace(wanted, window=replace(wanted.window, until=until))
    result = Redriven(dry=dry_run)
    for _ in range(MOST_LOOKED_AT // PAGE):
        page = engine.store.failed(tenant, PAGE, place, wanted.window)
        _send_again(engine, matching(engine, wanted, page.items), result, deadline)
        # The call goes on past runs that cannot be redriven, and names as many as an answer can carry.
        del result.refused[MOST_AT_ONCE:], result.undecided[MOST_AT_ONCE:]
        place = page.cursor
        if place is None:
            return result
        if len(result.runs) >= MOST_AT_ONCE or not deadline.allows(engine.clock.now()):
            break
    result.cursor = json.dumps([until, place])
    return result


def _opened(cursor: str) -> tuple[int, str | None]:
    until, place = json.loads(cursor)
    return int(until), place


def _send_again(engine: Engine, runs: Sequence[Record], result: Redriven, deadline: Deadline) -> None:
    # A run that cannot be sent now stays in its watch slot, for the sweep.
    runs, jobs = _still_scheduled(engine, runs, result, deadline)
    if result.dry:
        result.runs += runs
        return
    if not runs:
        return
    keep_jobs(engine, jobs, deadline)
    now = engine.clock.now()
    moves = [
        lifecycle.redrive(
            run,
            now + (len(result.runs) + number) * PACE_MS,
            now,
            generation=fresh_generation(),
            deployment=engine.deployment,
        )
        for number, run in enumerate(runs)
    ]
    again: list[Record] = []
    unknown: dict[str, Record] = {}
    for run, move, outcome in zip(runs, moves, engine.store.move_many(moves, deadline), strict=True):
        redriven = applied(run, move)
        if is_record_written(redriven, outcome):
            again.append(redriven)
        elif isinstance(outcome, Undecided):
            unknown[run.run_id] = redriven
        else:
            result.refused.append((run.run_id, "it changed in the meantime; try again"))
    again += _found_redriven(engine, unknown, result, deadline)
    result.runs += again
    send_runs(engine, [run for run in again if run.status is Status.DISPATCHED], deadline)


def _found_redriven(
    engine: Engine, unknown: Mapping[str, Record], result: Redriven, deadline: Deadline
) -> Sequence[Record]:
    # One that is still a dead letter is not called refused: the store may yet apply the write.
    found = engine.store.get_many(list(unknown), deadline).found if unknown else {}
    for run_id, redriven in unknown.items():
        current = found.get(run_id)
        if current is None or not is_own(current, redriven):
            why = "the store was busy, so it may run again or not; look at it, then try again"
            result.undecided.append((run_id, why))
    undecided = {run_id for run_id, _ in result.undecided}
    return [redriven for run_id, redriven in unknown.items() if run_id not in undecided]


def _still_scheduled(
    engine: Engine, runs: Sequence[Record], result: Redriven, deadline: Deadline
) -> tuple[Sequence[Record], Sequence[Record]]:
    # Redriven, a run that its job does not let start would be skipped, and its failure forgotten.
    job_ids = list(dict.fromkeys(run.job_id for run in runs if run.kind is Kind.STAMPED))
    if not job_ids:
        return runs, ()
    read = engine.store.get_many(job_ids, deadline)
    scheduled: list[Record] = []
    for run in runs:
        why = _why_not(run, read) if run.kind is Kind.STAMPED else None
        if why is None:
            scheduled.append(run)
        else:
            result.refused.append((run.run_id, why))
    jobs = {run.job_id: read.found[run.job_id] for run in scheduled if run.job_id in read.found}
    return scheduled, list(jobs.values())


def _why_not(run: Record, read: ReadRecords) -> str | None:
    job = read.found.get(run.job_id)
    if job is None and (run.job_id in read.unread or run.job_id in read.unreadable):
        return "its job cannot be read now; try again"
    if job is None:
        return f"it would be skipped: {GONE_WHY}"
    why = why_not_scheduled(job, run.run_id)
    return None if why is None else f"it would be skipped: {why}"
