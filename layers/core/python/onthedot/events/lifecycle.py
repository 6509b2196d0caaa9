"""Lifecycle events: turn each change of a record into one event or none. The schema is in docs/events.md."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from onthedot.core.clock import format_instant
from onthedot.core.records import SCHEDULED, STAMPING, TERMINAL, Kind, Record, Status
from onthedot.gates.explained import name_gate

SOURCE: Final = "onthedot"
"""The source of every event that onthedot publishes. Events with this source are never accepted as input."""

CREATED: Final = "onthedot.job.created"
CHANGED: Final = "onthedot.job.changed"
PAUSED: Final = "onthedot.job.paused"
RETRYING: Final = "onthedot.run.retrying"

# A recurring job that waits for parents can fail or be skipped with them.
_JOB_ENDS: Final[Mapping[Status, str]] = {
    Status.COMPLETED: "onthedot.job.completed",
    Status.FAILED: "onthedot.job.failed",
    Status.SKIPPED: "onthedot.job.skipped",
    Status.CANCELLED: "onthedot.job.cancelled",
    Status.DELETED: "onthedot.job.deleted",
}
_RUN_ENDS: Final[Mapping[Status, str]] = {
    Status.SUCCEEDED: "onthedot.run.succeeded",
    Status.FAILED: "onthedot.run.failed",
    Status.CANCELLED: "onthedot.run.cancelled",
    Status.SKIPPED: "onthedot.run.skipped",
    Status.DELETED: "onthedot.job.deleted",
}
_RUN_STEPS: Final[Mapping[Status, str]] = {
    Status.WAITING: "onthedot.run.waiting",
    Status.PENDING: "onthedot.run.pending",
    Status.DISPATCHED: "onthedot.run.dispatched",
    Status.RUNNING: "onthedot.run.running",
    Status.PAUSED: PAUSED,
}
ENDS: Final = frozenset({*_JOB_ENDS.values(), *_RUN_ENDS.values()})
"""The detail-types that are always published."""
STEPS: Final = frozenset({*_RUN_STEPS.values(), CREATED, CHANGED, RETRYING})
"""The detail-types that are published only on a stage that asks for every change."""


@dataclass(frozen=True, slots=True)
class LifecycleEvent:
    detail_type: str
    detail: Mapping[str, Any]


def event_of(
    old: Record | None, new: Record | None, at: int, *, every_change: bool = False, with_results: bool = False
) -> LifecycleEvent | None:
    """Return the event to publish when `new` replaced `old` at about `at`, or None.

    A record that was removed ended long before, and its end was published then. Heartbeats, resent messages and the
    advance of a schedule change no status, so they are not published. Nor is a record that was imported: the stage that
    it comes from has published its events. Its first write here is not its first revision.
    """
    if new is None or (old is None and new.revision > 1):
        return None
    detail_type = _detail_type(old, new)
    if detail_type is None or not (every_change or detail_type in ENDS):
        return None
    return LifecycleEvent(detail_type, {**_detail(old, new, at), **(_contents(new) if with_results else {})})


def _detail_type(old: Record | None, new: Record) -> str | None:
    is_job = new.kind in STAMPING
    if old is None:
        return _first(new, is_job=is_job)
    if new.status is not old.status:
        return _job_step(new.status) if is_job else _run_step(old.status, new.status)
    # The status is the same: a client changed the job, or a skipped range grew.
    if new.version != old.version:
        return CHANGED
    return _RUN_ENDS[Status.SKIPPED] if new.skipped_count != old.skipped_count else None


def _first(new: Record, *, is_job: bool) -> str:
    """Return the detail-type of a new record. A record that is created as ended gets the event of its end."""
    if is_job or (new.kind is Kind.ONE_OFF and new.status not in TERMINAL):
        return CREATED
    return _run_step(None, new.status)


def _job_step(status: Status) -> str:
    return PAUSED if status is Status.PAUSED else _JOB_ENDS.get(status, CHANGED)


def _run_step(before: Status | None, status: Status) -> str:
    if status in _RUN_ENDS:
        return _RUN_ENDS[status]
    if status in SCHEDULED and before in (Status.RUNNING, Status.FAILED):
        return RETRYING
    return _RUN_STEPS[status]


def _detail(old: Record | None, new: Record, at: int) -> dict[str, Any]:
    waits = name_gate(new)
    detail: dict[str, Any] = {
        "tenant": new.tenant,
        "job_id": new.job_id,
        "execution_id": None if new.kind in STAMPING else new.run_id,
        "status": new.status.value,
        "previous_status": None if old is None else old.status.value,
        "version": new.revision,
        "time": format_instant(_moment(old, new, at)),
        "attempt": new.attempt,
        "reason": new.reason if waits is None else waits.message,
        "name": None if new.definition is None else new.definition.name,
        "workflow_id": new.workflow,
    }
    if new.kind is Kind.SKIPPED_RANGE:
        until = new.fire_time if new.skipped_until is None else new.skipped_until
        detail["skipped"] = {
            "from": format_instant(new.fire_time),
            "until": format_instant(until),
            "count": new.skipped_count or 1,
        }
    return detail


def _moment(old: Record | None, new: Record, at: int) -> int:
    """Return the time of the change: the record's own if it has one, because the stream is exact to the second only."""
    if old is None:
        return new.created_at
    if new.status is old.status:
        return at
    if new.status is Status.RUNNING and new.started_at is not None:
        return new.started_at
    if new.status in TERMINAL and new.finished_at is not None and old.finished_at is None:
        return new.finished_at
    return at


def _contents(new: Record) -> dict[str, Any]:
    """Return the payload and the result, or their keys in the blob bucket when they are long."""
    definition = new.definition
    if definition is None:
        payload, ref = None if new.payload is None else json.loads(new.payload), new.payload_ref
    else:
        payload, ref = definition.payload, definition.payload_ref
    return {
        "payload": payload,
        "payload_ref": ref,
        "result": new.result,
        "result_ref": new.result_ref,
    }
