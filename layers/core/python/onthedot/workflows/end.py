"""End the jobs of a graph with the run that makes it, when that run failed or was stopped. Doing it twice is harmless.

Jobs that do not exist yet are stored as ended, so an attempt that still makes the graph finds their ids in use.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.core.errors import Unavailable, Unreadable
from onthedot.core.ids import is_stamped
from onthedot.core.lifecycle import closed, cut
from onthedot.core.listing import failed_under
from onthedot.core.moves import Move, applied
from onthedot.core.ports import Deadline, Moved, Refused, Undecided
from onthedot.core.records import TERMINAL, Record, Status
from onthedot.core.slots import Deployment
from onthedot.engine import Engine
from onthedot.jobs import changes
from onthedot.workflows.dependencies import end_waiting
from onthedot.workflows.members import Workflow, graph_of, ids_of, records_of

TRIES: Final = 8


@dataclass(slots=True)
class EndedGraph:
    to_notify: list[Record] = field(default_factory=list)
    """Jobs that ended now, or before, and whose children are not notified yet."""
    touched: int = 0
    """Jobs that were ended or asked to stop."""
    unreadable: Unreadable | None = None
    """A job that could not be ended, because it cannot be read."""

    def note(self, unreadable: Iterable[Unreadable]) -> None:
        self.unreadable = self.unreadable or next(iter(unreadable), None)


def end_graph(engine: Engine, run: Record, how: Status, deadline: Deadline) -> EndedGraph:
    """End all jobs that have not ended, as the run did. Raise Unavailable or UnreadableRecord."""
    job = engine.store.get(run.job_id) if is_stamped(run.run_id) else run
    ended = EndedGraph()
    if job is None or job.definition is None:  # the job that defines the graph is gone
        return ended
    workflow = graph_of(engine, job, job.definition)
    jobs = _stored_jobs(engine, workflow, run, how, deadline=deadline, ended=ended)
    for _ in range(TRIES):
        jobs = _end(engine, jobs, run, how, deadline=deadline, ended=ended)
        if not jobs:
            return ended
    raise Unavailable(f"jobs of {run.run_id} keep changing; try again")


def _stored_jobs(
    engine: Engine, workflow: Workflow, run: Record, how: Status, *, deadline: Deadline, ended: EndedGraph
) -> list[Record]:
    """Return the jobs that exist. Store the others as ended, unless the whole graph was made once."""
    if run.attempts and run.attempts[-1].outcome == "succeeded":
        read = engine.store.get_many(list(ids_of(workflow, run.run_id).values()), deadline)
        if read.unread:
            raise Unavailable(f"the jobs of {run.run_id} could not be read in time")
        ended.note(read.unreadable.values())
        return list(read.found.values())
    now = engine.clock.now()
    keys = [member.key for member in workflow.members]
    to, why = _end_as(run, how)
    missing = [never_made(job, to, why, now, engine.deployment) for job in records_of(engine, workflow, run, keys)]
    outcomes = engine.store.create_many(missing, deadline)
    if any(isinstance(outcome, Undecided) for outcome in outcomes):
        raise Unavailable(f"not all jobs of {run.run_id} could be ended in time")
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    ended.note(outcome.unreadable for outcome in refused if outcome.unreadable is not None)
    return [outcome.current for outcome in refused if outcome.current is not None]


def _end(
    engine: Engine, jobs: Sequence[Record], run: Record, how: Status, *, deadline: Deadline, ended: EndedGraph
) -> list[Record]:
    """End the jobs, in one round. Return the jobs that changed meanwhile and need another round."""
    now = engine.clock.now()
    to, why = _end_as(run, how)
    ends = [(job, _end_of(job, to, why, now, engine.deployment)) for job in jobs]
    ended.to_notify += [job for job, move in ends if move is None and job.notify_pending is not None]
    pairs: list[tuple[Record, Move]] = [(job, move) for job, move in ends if move is not None]
    outcomes = engine.store.move_many([move for _, move in pairs], deadline) if pairs else []
    again: list[Record] = []
    for (job, move), outcome in zip(pairs, outcomes, strict=True):
        if isinstance(outcome, Undecided):
            raise Unavailable(outcome.why)
        if isinstance(outcome, Moved):
            after = applied(job, move)
            ended.touched += 1
            ended.to_notify += [after] if after.notify_pending is not None else []
        elif outcome.current is not None:
            again.append(outcome.current)
        elif outcome.unreadable is not None:
            ended.note([outcome.unreadable])
    return again


WHY: Final[Mapping[Status, str]] = {
    Status.FAILED: "its workflow could not be made",
    Status.SKIPPED: "its workflow was skipped",
    Status.CANCELLED: "its workflow was cancelled",
    Status.DELETED: "its workflow was deleted",
}


def ended_with_workflow(job: Record) -> bool:
    """Return whether the end of its workflow's run ended this job, or kept it from being made."""
    return job.status in TERMINAL and (job.reason or "").startswith(tuple(WHY.values()))


def _end_as(run: Record, how: Status) -> tuple[Status, str]:
    """Return the status in which the jobs of the run end, and the reason. Only a failure or a skip has a cause."""
    because = run.reason if how in (Status.FAILED, Status.SKIPPED) else None
    why = cut(f"{WHY[how]}{f': {because}' if because else ''}")
    return Status.CANCELLED if how is Status.DELETED else how, why


def _end_of(job: Record, to: Status, why: str, now: int, deployment: Deployment) -> Move | None:
    if job.status in TERMINAL:
        return None
    if job.status is not Status.WAITING:
        move = changes.cancel(job, now, deployment)
        if move is None or move.to is Status.RUNNING:
            return move
        return replace(move, changes={**move.changes, "reason": why})
    return end_waiting(job, to, why, now, deployment)


def never_made(job: Record, to: Status, why: str, now: int, deployment: Deployment) -> Record:
    """Return an ended record that takes the id of a job, so that a worker that makes the graph late cannot make it."""
    return replace(
        job,
        status=to,
        waits_for=frozenset(),
        reason=why,
        failed_under=failed_under(job.tenant, job.run_id) if to is Status.FAILED else None,
        **closed(now, deployment),
    )
