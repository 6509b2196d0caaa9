"""Make the graph of a workflow: store its jobs, children before parents, each if it is absent.

Doing it twice is harmless. Each job is stored with its parents, its children and the jobs that it waits for, so no job
has to be linked later. A graph is whole when its last job is stored, and no job in it runs before all jobs that wait
for it are stored.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from onthedot.core import patience
from onthedot.core.attempt import not_made
from onthedot.core.errors import Unavailable
from onthedot.core.outcomes import Outcome, record_after_create
from onthedot.core.ports import Answer, Call, Deadline, Moved, Performer
from onthedot.core.records import Record, Status
from onthedot.core.send import send_runs
from onthedot.engine import Engine
from onthedot.workflows.end import ended_with_workflow
from onthedot.workflows.graph import order
from onthedot.workflows.members import Workflow, from_payload, records_of

AT_ONCE: Final = 100


class _CannotBeMade(Exception):
    """The graph cannot be made, and trying again does not help."""


class WorkflowStarter(Performer):
    """The performer of `WorkflowTarget`, on workers that have an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def perform(self, call: Call) -> Answer:
        """Make the graph. Return its id and the number of its jobs as the result."""
        try:
            made = self._make(call)
        except _CannotBeMade as error:
            return Answer(ok=False, error=str(error), error_class="workflow", retryable=False)
        except Unavailable as error:
            return not_made(Unavailable(f"the graph is not complete yet: {error}"), call.attempt)
        return Answer(ok=True, result=json.dumps({"workflow_id": call.run_id, "jobs": made}))

    def _make(self, call: Call) -> int:
        run = self._engine.store.get(call.run_id)
        if run is None or run.status is not Status.RUNNING or run.attempt != call.attempt:
            raise _CannotBeMade("another attempt owns this run now")
        workflow = _read(call)
        for keys in _in_order(workflow):
            self._store(call, records_of(self._engine, workflow, run, keys))
        self._refuse_cancelled(run)
        roots = self._store(call, records_of(self._engine, workflow, run, workflow.graph.roots()))
        # Also the roots that an earlier attempt stored: it may have died before it sent them.
        ready = [root for root in roots if root.status is Status.DISPATCHED]
        send_runs(self._engine, ready, self._deadline())
        return len(workflow.members)

    def _refuse_cancelled(self, run: Record) -> None:
        """Raise _CannotBeMade when the run was stopped meanwhile: no job of the graph can run yet."""
        current = self._engine.store.get(run.run_id)
        if current is None or current.cancel_requested is not None or current.attempt_token != run.attempt_token:
            raise _CannotBeMade("it was stopped while its graph was made")

    def _store(self, call: Call, records: Sequence[Record]) -> list[Record]:
        """Store the jobs and return them as they are stored. Raise Unavailable when any may be missing."""
        if call.stop.reason is not None:
            raise Unavailable(call.stop.reason)
        outcomes = self._engine.store.create_many(records, self._deadline())
        return [_stored(record, outcome) for record, outcome in zip(records, outcomes, strict=True)]

    def _deadline(self) -> Deadline:
        return Deadline.after(self._engine.clock.now(), patience.REQUEST_MS)


def _read(call: Call) -> Workflow:
    try:
        return from_payload(call.payload)
    except (ValueError, KeyError, TypeError) as error:
        raise _CannotBeMade(f"its payload is not a graph: {error!r}") from error


def _in_order(workflow: Workflow) -> Iterator[list[str]]:
    """Yield the keys of waiting jobs, children before their parents. The roots run at once, so they come last."""
    roots = set(workflow.graph.roots())
    waiting = [key for key in reversed(order(workflow.graph)) if key not in roots]
    for first in range(0, len(waiting), AT_ONCE):
        yield waiting[first : first + AT_ONCE]


def _stored(record: Record, outcome: Outcome) -> Record:
    stored = record_after_create(record, outcome)
    if stored is None:
        raise Unavailable(f"job {record.key} may be stored or not")
    if not isinstance(outcome, Moved) and ended_with_workflow(stored):
        raise _CannotBeMade("its jobs were ended when it could not be made before; submit the workflow again")
    return stored
