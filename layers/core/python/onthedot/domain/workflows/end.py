"""The end of the jobs of a graph whose run could not make all of them, or was stopped.

Without it, jobs of the graph would wait for parents that are never made.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs import changes
from onthedot.domain.runs.dead_letters import failed_under
from onthedot.domain.runs.endings import closed, concluded, cut
from onthedot.domain.runs.moves import Expect, Move
from onthedot.domain.runs.records import TERMINAL, Record, Status

WHY: Final[Mapping[Status, str]] = {
    Status.FAILED: "its workflow could not be made",
    Status.SKIPPED: "its workflow was skipped",
    Status.CANCELLED: "its workflow was cancelled",
    Status.DELETED: "its workflow was deleted",
}


def ended_with_workflow(job: Record) -> bool:
    """Return whether the end of its workflow's run ended this job, or kept it from being made."""
    return job.status in TERMINAL and (job.reason or "").startswith(tuple(WHY.values()))


def was_made(run: Record) -> bool:
    """Return whether an ended run had made its whole graph."""
    return bool(run.attempts) and run.attempts[-1].outcome == "succeeded"


def end_of(job: Record, run_ended: Status, because: str | None, now: int, deployment: Deployment) -> Move | None:
    """End a job with its workflow, or ask its running attempt to stop. Return None when there is nothing to do."""
    if job.status in TERMINAL:
        return None
    why = _why(run_ended, because)
    if job.status is not Status.WAITING:
        move = changes.cancel(job, now, deployment)
        return move if move is None or move.to is Status.RUNNING else _with_reason(move, why)
    to = _status(run_ended)
    ended = {**concluded(job, now, deployment), "reason": why, "waits_for": None}
    if to is Status.FAILED:
        ended["failed_under"] = failed_under(job.tenant, job.run_id)
    return Move(job.run_id, Expect(frozenset({Status.WAITING}), {"dependents": job.dependents}), to, ended)


def never_made(job: Record, run_ended: Status, because: str | None, now: int, deployment: Deployment) -> Record:
    """Return an ended record that takes the id of a job, so that a worker that makes the graph late cannot make it."""
    to = _status(run_ended)
    return replace(
        job,
        status=to,
        waits_for=frozenset(),
        reason=_why(run_ended, because),
        failed_under=failed_under(job.tenant, job.run_id) if to is Status.FAILED else None,
        **closed(now, deployment),
    )


def _with_reason(move: Move, why: str) -> Move:
    return replace(move, changes={**move.changes, "reason": why})


def _status(run_ended: Status) -> Status:
    return Status.CANCELLED if run_ended is Status.DELETED else run_ended


def _why(run_ended: Status, because: str | None) -> str:
    return cut(f"{WHY[run_ended]}{f': {because}' if because else ''}")
