"""End the jobs of a graph with the run that makes it, when that run failed or was stopped. Doing it twice is harmless.

Jobs that do not exist yet are stored as ended, so an attempt that still makes the graph finds their ids in use.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.core.errors import Unavailable, Unreadable
from onthedot.core.ids import is_stamped
from onthedot.core.moves import Move, applied
from onthedot.core.ports import Deadline, Moved, Refused, Undecided
from onthedot.core.records import Record, Status
from onthedot.engine import Engine
from onthedot.workflows.graph import end_of, never_made, was_made
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


def read_graph(engine: Engine, run: Record) -> Workflow | None:
    """Return the graph that the run makes. None: the job that defines it is gone.

    Raise Unavailable, and UnreadableRecord for a graph that this version cannot read.
    """
    job = engine.store.get(run.job_id) if is_stamped(run.run_id) else run
    if job is None or job.definition is None:
        return None
    return graph_of(engine, job, job.definition)


def end_graph(engine: Engine, run: Record, how: Status, deadline: Deadline) -> EndedGraph:
    """End all jobs that have not ended, as the run did. Raise Unavailable or UnreadableRecord."""
    workflow = read_graph(engine, run)
    ended = EndedGraph()
    if workflow is None:
        return ended
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
    if was_made(run):
        read = engine.store.get_many(list(ids_of(workflow, run.run_id).values()), deadline)
        if read.unread:
            raise Unavailable(f"the jobs of {run.run_id} could not be read in time")
        ended.note(read.unreadable.values())
        return list(read.found.values())
    now = engine.clock.now()
    keys = [member.key for member in workflow.members]
    because = _because(run, how)
    missing = [never_made(job, how, because, now, engine.deployment) for job in records_of(engine, workflow, run, keys)]
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
    because = _because(run, how)
    ends = [(job, end_of(job, how, because, now, engine.deployment)) for job in jobs]
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


def _because(run: Record, how: Status) -> str | None:
    """Return the cause of the end. Only a failure or a skip has one."""
    return run.reason if how in (Status.FAILED, Status.SKIPPED) else None
