"""Read a lease of the API as a task, and write an answer as the API reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from onthedot.api.core.times import parse_instant
from onthedot.domain import compact_json
from onthedot.domain.runs.progress import LatestProgress
from onthedot.domain.runs.records import Definition, Priority
from onthedot.domain.targets import types as targets
from onthedot.domain.workers.pools import Requirements, worker_needs
from onthedot.ports import Answer, Call, Performer
from onthedot.stopping import Stop
from onthedot.worker.work_source import Task

ERROR_CHARACTERS: Final = 2_000
CLASS_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True)
class Note:
    """The parts of a lease that later calls need."""

    receipt: str | None
    """The sealed receipt of the run's message, which the worker sends back with every call about the run."""
    lease_seconds: float


def task_from(view: Mapping[str, Any], begun_at: float) -> Task:
    """Return the task of a lease, which counts from this time of the worker's own clock.

    Raise KeyError, TypeError or ValueError when the view is not a lease that this version can read.
    """
    target = targets.from_json(view["target"])
    required = view["requirements"]
    requirements = Requirements(
        tuple(required["capabilities"]), required["cpu"], required["memory_mb"], required.get("storage_mb", 0)
    )
    definition = Definition(target, requirements=requirements, timeout_seconds=int(view["timeout_seconds"]))
    call = Call(
        run_id=view["execution_id"],
        job_id=view["job_id"],
        attempt=int(view["attempt"]),
        nominal_at=parse_instant(view["fire_time"]),
        definition=definition,
        # Byte by byte the text that the API signed.
        payload=compact_json.to_bytes(view["payload"]),
        timeout_ms=definition.timeout_seconds * 1000,
        signature=dict(view["signature"]),
        traceparent=str(view.get("traceparent", "")),
        started_at=parse_instant(view["started_at"]) if "started_at" in view else 0,
    )
    return Task(
        run_id=call.run_id,
        attempt=call.attempt,
        priority=Priority(view["priority"]),
        needs=worker_needs(target, requirements, definition.timeout_seconds),
        alone=bool(view["alone"]),
        lease_end=begun_at + float(view["lease_seconds"]),
        perform=partial(_perform, call),
        source_note=Note(view["receipt"], float(view["lease_seconds"])),
    )


def report_of(task: Task, answer: Answer, worker_id: str) -> dict[str, Any]:
    """Return the body of a call of `complete`."""
    status = "SUCCEEDED" if answer.ok else "LOST" if answer.lost else "RELEASED" if answer.handed_back else "FAILED"
    whole = {
        "status": status,
        "attempt": task.attempt,
        "worker_id": worker_id,
        "receipt": task.source_note.receipt,
        "result": answer.result if answer.ok else None,
        "error": None if answer.ok else (answer.error or "failed without a reason")[:ERROR_CHARACTERS],
        "error_class": answer.error_class and answer.error_class[:CLASS_CHARACTERS],
        "retryable": None if answer.ok else answer.retryable,
        "retry_after_seconds": None if answer.retry_after_ms is None else answer.retry_after_ms / 1000,
    }
    return {name: value for name, value in whole.items() if value is not None}


def _perform(call: Call, target: Performer, stop: Stop, progress: LatestProgress) -> Answer:
    return target.perform(replace(call, stop=stop, progress=progress))
