"""Explain why a job has not run, or what it does now, from its record and the facts that were read with it.

Every reason has a stable code and a sentence. The first reason is the one that stops the job now.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.core.clock import format_instant
from onthedot.core.errors import Unreadable
from onthedot.core.gate_names import gate_of_slot
from onthedot.core.reasons import Reason, in_short
from onthedot.core.records import SCHEDULED, STAMPING, Kind, Record, Status
from onthedot.core.slots import ASIDE, queue_key
from onthedot.jobs.change_log import ChangeAction, changes_of
from onthedot.jobs.shown import coming_fire, next_stamped, runs_so_far
from onthedot.schedules.preview import preview
from onthedot.schedules.schedule import skipped_between

LAST_RUN: Final = "last_run_"
"""The begin of the codes that are about the latest run of a job with several runs."""
STAGE_CLOSED: Final = "stage_closed"
"""The code of the reason that the stage is frozen or imports data, so that nothing starts."""
COMPLETED: Final = "completed"
"""The code of the reason that a schedule has ended."""
MOST_NAMED: Final = 10
"""The most parents that a reason names. Of further parents it gives only the number."""


@dataclass(frozen=True, slots=True)
class QueueState:
    """The backlog of the queue that a run waits in."""

    visible: int | None
    """Number of messages that wait there. None when the queue cannot be asked."""
    oldest_age_ms: int | None = None
    """Age of the oldest message. None when it is not known."""


def explain(
    record: Record,
    now: int,
    backlog: QueueState | None,
    latest_run: Record | None,
    *,
    at_gate: Reason | None = None,
    ahead: Sequence[Reason] = (),
    workers: Sequence[Reason] = (),
    parents: Sequence[str] = (),
    behind: Sequence[Reason] = (),
    failing: Reason | None = None,
) -> list[Reason]:
    """Return the reasons. The first one is the reason that stops the job now.

    `latest_run` is the latest due run of a recurring job or event job, and `backlog` is that of the queue in which this
    run, or the job itself, waits. `at_gate` says at which gate it waits, or when a gate lets it start. `ahead` says at
    which gates it will have to wait. `workers` says which workers it waits for in its queue. `parents` names the
    parents that have not ended, with their statuses. `behind` says which runs wait while it runs.
    `failing` says that its latest runs failed.
    """
    if record.slot is not None and record.slot.startswith(f"{ASIDE}#"):
        return [_set_aside(record)]
    if record.status is Status.WAITING:
        return _waiting_for(parents, record, now)
    if record.kind not in STAMPING:
        return [*workers, *_of_run(record, now, backlog, at_gate), *behind, *ahead]
    reasons = [] if latest_run is None else [*workers, *_of_run(latest_run, now, backlog, at_gate), *behind]
    last = [Reason(f"{LAST_RUN}{reason.code}", f"its last run: {reason.message}") for reason in reasons]
    own, failed = _of_job(record, now), [] if failing is None else [failing]
    if own.code == COMPLETED and latest_run is not None and latest_run.status is Status.FAILED:
        # Nothing stops a schedule that has ended. The failure is what a reader looks for.
        return [*failed, *last, own]
    return [own, *failed, *_clock_change(record, now), *ahead, *last]


def unreadable_reason(record: Unreadable) -> Reason:
    since = "" if record.aside_since is None else f" It was set aside at {format_instant(record.aside_since)}."
    advice = "It runs once a version that can read it is deployed, or an operator repairs it."
    return Reason("unreadable", f"this version cannot read the record: {record.why}.{since} {advice}")


def _set_aside(record: Record) -> Reason:
    since = "" if record.aside_since is None else f" since {format_instant(record.aside_since)}"
    advice = "the dispatcher tries it again within the hour, or after `onthedot audit --take-up`"
    return Reason("set_aside", f"set aside{since}: {record.aside_why}; {advice}")


def _of_job(job: Record, now: int) -> Reason:
    if job.status is Status.PAUSED:
        return _paused(job)
    if job.status is Status.COMPLETED:
        return _completed(job, now)
    if job.status is not Status.ACTIVE:
        return _ended(job)
    if job.kind is Kind.EVENT:
        return Reason("waits_for_events", "waits for events that match")
    at = coming_fire(job, now) or job.due_at
    if at > now:
        return Reason("not_due", f"not due until {format_instant(at)}")
    return Reason("overdue", f"due since {format_instant(at)}, and waits for the next tick")


def _paused(job: Record) -> Reason:
    """Say which client paused the job, and when, if its log of changes shows it."""
    note = next((note for note in changes_of(job) if note.action is ChangeAction.PAUSE), None)
    if note is None:
        return Reason("paused", "the job is paused; resume it")
    # The name is not the first word, which a reader's program may begin with a capital letter.
    by = "" if note.by is None else f" by {note.by}"
    return Reason("paused", f"it was paused{by} at {format_instant(note.at)}; resume it")


def _completed(job: Record, now: int) -> Reason:
    """Say why the schedule has ended. Its last runs may still be ahead."""
    if (ahead := next_stamped(job, now)) is not None:
        return Reason("not_due", f"not due until {format_instant(ahead)}")
    runs = runs_so_far(job, now)
    why = ""
    if job.recurrence is not None and job.recurrence.max_runs is not None and runs >= job.recurrence.max_runs:
        why = f", and max_runs {job.recurrence.max_runs} is reached"
    elif job.recurrence is not None and job.recurrence.schedule.end_at is not None:
        why = f", and its end_at {format_instant(job.recurrence.schedule.end_at)} has passed"
    made = "1 run was" if runs == 1 else f"{runs} runs were"
    return Reason(COMPLETED, f"the schedule has ended: {made} made of it{why}")


def _clock_change(job: Record, now: int) -> list[Reason]:
    """Say how a change of the clocks moves or skips the next fire time."""
    if job.status is not Status.ACTIVE or job.recurrence is None:
        return []
    schedule = job.recurrence.schedule
    # A skipped time gets its record with the next stamps, which may be a day later.
    since = job.created_at if job.accounted_until is None else job.accounted_until
    skipped = skipped_between(schedule, since, now + 1, 1)
    jumped = [f"the fire time at {format_instant(at)} was skipped: dst, clocks jumped over it" for at in skipped]
    notes = [f"clocks change: {fire.note}" for fire in preview(schedule, now, 1) if fire.note]
    return [Reason("clock_change", said) for said in (*jumped, *notes)]


def _waiting_for(parents: Sequence[str], record: Record, now: int) -> list[Reason]:
    more = len(parents) - MOST_NAMED
    named = ", ".join([*parents[:MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])
    reasons = [Reason("waiting_for_parents", f"waits for the end of {named or 'its parents'}")]
    if record.kind is Kind.ONE_OFF and record.fire_time > now:
        reasons.append(Reason("not_due", f"not due until {format_instant(record.fire_time)}"))
    return reasons


def _of_run(run: Record, now: int, backlog: QueueState | None, at_gate: Reason | None) -> list[Reason]:
    if run.status is Status.PAUSED:
        return [_paused(run)]
    if run.status is Status.RUNNING:
        return _running(run)
    if run.status not in SCHEDULED:
        return [_ended(run)]
    if gate_of_slot(run.slot) is not None and at_gate is not None:
        return [at_gate, *_why_again(run, now)]
    has_instant = [] if at_gate is None else [at_gate]
    return [*_why_again(run, now), *has_instant, _waiting(run, now, backlog)]


def _running(run: Record) -> list[Reason]:
    since = "" if run.started_at is None else f" since {format_instant(run.started_at)}"
    reasons = [Reason("running", f"attempt {run.attempt} runs{since} by worker {run.worker}")]
    if run.cancel_requested is not None:
        reasons.append(Reason("cancel_requested", f"it was asked to stop at {format_instant(run.cancel_requested)}"))
    return reasons


def _why_again(run: Record, now: int) -> list[Reason]:
    """Say why a run waits again: an attempt failed, or its turn has not come."""
    if run.attempt:
        at = format_instant(run.due_at)
        retry = f"retry at {at} after" if run.due_at > now else f"the retry is due since {at}, after"
        return [Reason("retrying", f"{retry}: {run.reason or 'a lost attempt'}")]
    return [] if run.reason is None else [Reason("held_back", run.reason)]


def _waiting(run: Record, now: int, backlog: QueueState | None) -> Reason:
    if run.due_at > now:
        where = "sent, " if run.status is Status.DISPATCHED else ""
        return Reason("not_due", f"{where}not due until {format_instant(run.due_at)}")
    if run.status is Status.PENDING:
        return Reason("overdue", f"due since {format_instant(run.due_at)}, and waits for the next tick")
    queue = queue_key(run.pool, run.priority)
    return Reason("queued", f"sent, due since {format_instant(run.due_at)}, waits in queue {queue}{_behind(backlog)}")


def _behind(backlog: QueueState | None) -> str:
    if backlog is None:
        return ""
    if backlog.visible is None:
        return "; that queue does not answer now"
    age = "" if backlog.oldest_age_ms is None else f", the oldest for {in_short(backlog.oldest_age_ms / 1000)}"
    return f"; {backlog.visible:,} waiting there, of all tenants{age}"


def _ended(run: Record) -> Reason:
    at = "" if run.finished_at is None else f" at {format_instant(run.finished_at)}"
    if run.kind is Kind.SKIPPED_RANGE:
        until = format_instant(run.skipped_until if run.skipped_until is not None else run.fire_time)
        first = format_instant(run.fire_time)
        if (number := run.skipped_count or 1) == 1:
            return Reason("skipped", f"the fire time at {first} was skipped: {run.reason}")
        return Reason("skipped", f"{number:,} fire times from {first} to {until} were skipped: {run.reason}")
    why = "" if run.reason is None else f": {run.reason}"
    return Reason(run.status.value.lower(), f"{run.status.value.lower()}{at}{why}")
