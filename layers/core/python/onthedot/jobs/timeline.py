"""Report the latest run of a job as a short timeline: due, attempts, waits and end, the oldest first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import Final

from onthedot.core.clock import format_instant
from onthedot.core.gate_names import GateId, where
from onthedot.core.reasons import Reason
from onthedot.core.records import SCHEDULED, TERMINAL, Attempt, Kind, Record, Status
from onthedot.jobs.causes import cause_of
from onthedot.jobs.change_log import ChangeAction, changes_of

MOST_MOMENTS: Final = 30
"""Moments that a timeline has. Of more, it has the latest."""
MOST_NOTES: Final = 5
"""Changes by clients that a timeline has."""
_DONE: Final = {
    ChangeAction.CHANGE: "changed",
    ChangeAction.PAUSE: "paused",
    ChangeAction.RESUME: "resumed",
    ChangeAction.CANCEL: "cancelled",
    ChangeAction.ASSIGN: "assigned to a worker",
}


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant and the event of it."""

    time: int
    message: str


def timeline(job: Record, run: Record | None, now: int, present: Reason | None) -> list[Moment]:
    """`run` is None for a job that has had no run. `present` is the reason that stops a due run now."""
    moments = [*_notes(job), *([] if run is None else _of_run(run))]
    if run is not None and present is not None and _waits(run, now):
        moments.append(Moment(now, present.message))
    return sorted(moments, key=lambda one: one.time)[-MOST_MOMENTS:]


def _waits(run: Record, now: int) -> bool:
    return run.status in SCHEDULED and run.due_at <= now


def _notes(job: Record) -> Iterator[Moment]:
    for note in changes_of(job)[:MOST_NOTES]:
        if note.action in _DONE:
            by = "" if note.by is None else f" by {note.by}"
            fields = f": {', '.join(note.fields)}" if note.fields else ""
            yield Moment(note.at, f"{_DONE[note.action]}{by}{fields}")


def _of_run(run: Record) -> Iterator[Moment]:
    if run.kind is Kind.SKIPPED_RANGE:
        yield from _of_range(run)
        return
    if run.kind is Kind.ONE_OFF:
        yield Moment(run.created_at, "submitted")
    yield Moment(run.fire_time, "due")
    if run.waited_at is not None and run.waited_since is not None:
        why = "" if run.waited_why is None else f": {run.waited_why}"
        yield Moment(run.waited_since, f"began to wait {where(GateId.of(run.tenant, run.waited_at))}{why}")
    for attempt in run.attempts:
        yield from _of_attempt(attempt)
    yield from _of_present(run)
    if run.status in TERMINAL and run.finished_at is not None:
        why = "" if run.reason is None or run.reason == run.status.value.lower() else f": {run.reason}"
        yield Moment(run.finished_at, f"{run.status.value.lower()}{why}")


def _of_present(run: Record) -> Iterator[Moment]:
    if run.status is Status.RUNNING and run.started_at is not None:
        yield Moment(run.started_at, f"attempt {run.attempt} started by worker {run.worker}")
    if run.cancel_requested is not None:
        yield Moment(run.cancel_requested, "asked to stop")
    if run.status in SCHEDULED and run.attempt:
        yield Moment(run.due_at, "next attempt is due")
    if run.aside_since is not None:
        yield Moment(run.aside_since, f"set aside: {run.aside_why}")


def _of_attempt(attempt: Attempt) -> Iterator[Moment]:
    yield Moment(attempt.started_at, f"attempt {attempt.number} started by worker {attempt.worker}")
    error = "" if attempt.error is None else f": {attempt.error}"
    yield Moment(attempt.ended_at, f"attempt {attempt.number} {attempt.outcome}{error}")


def _of_range(run: Record) -> Iterator[Moment]:
    until = run.fire_time if run.skipped_until is None else run.skipped_until
    number = run.skipped_count or 1
    times = "this fire time" if number == 1 else f"{number:,} fire times up to {format_instant(until)}"
    yield Moment(run.fire_time, f"{times} skipped: {run.reason}")


def runs_fail(latest: Sequence[Record], *, more: bool) -> Reason | None:
    """Return the reason if at least two runs in a row failed and none has ended since. The latest come first."""
    ended = list(dropwhile(lambda run: run.status not in TERMINAL, latest))
    failed = list(takewhile(lambda run: run.status is Status.FAILED, ended))
    if len(failed) < 2:
        return None
    is_cut = more and len(failed) == len(ended)
    first = failed[-1].finished_at or failed[-1].fire_time
    number = f"{'at least ' if is_cut else ''}its last {len(failed)} runs failed"
    since = f"since {format_instant(first)}{' or before' if is_cut else ''}"
    causes = [cause_of(run) for run in failed]
    why = causes[0] if len(set(causes)) == 1 else f"the last: {causes[0]}"
    return Reason("runs_fail", f"{number}, {since}: {why}")
