"""Make the graph of a workflow: its jobs, children before parents, each put if it is absent. It may happen twice.

Parents, children and what each waits for are written with the jobs themselves, so nothing has to be linked: a graph
is whole when its last job is stored, and nothing in it runs before all that could wait for it are there.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import Record, Status
from onthedot.domain.workflows.end import ended_with_workflow
from onthedot.domain.workflows.graph import order
from onthedot.ports import Answer, Call, Deadline, Engine, Moved, Performer, Refused, Undecided
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.workflows.workflow_graph import Workflow, from_payload, records_of

AT_ONCE: Final = 100
PATIENCE_MS: Final = 15_000


class _CannotBeMade(Exception):
    """Trying again does not help."""


class WorkflowStarter(Performer):
    """Performs `WorkflowTarget`, on workers that have an engine at hand."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def perform(self, call: Call) -> Answer:
        try:
            made = self._make(call)
        except _CannotBeMade as error:
            return Answer(ok=False, error=str(error), error_class="workflow", retryable=False)
        except Unavailable as error:
            return Answer(ok=False, error=f"the graph is not whole yet: {error}", error_class="unavailable")
        return Answer(ok=True, result=json.dumps({"workflow_id": call.run_id, "jobs": made}))

    def _make(self, call: Call) -> int:
        run = self._engine.store.get(call.run_id)
        if run is None or run.status is not Status.RUNNING or run.attempt != call.attempt:
            raise _CannotBeMade("another attempt owns this run by now")
        workflow = _read(call)
        for keys in _in_order(workflow):
            self._store(call, records_of(self._engine, workflow, run, keys))
        self._refuse_cancelled(run)
        roots = self._store(call, records_of(self._engine, workflow, run, workflow.graph.roots()))
        # Also those that an earlier attempt stored: it may have died before it sent them.
        ready = [root for root in roots if root.status is Status.DISPATCHED]
        send_runs(self._engine, ready, self._deadline())
        return len(workflow.members)

    def _refuse_cancelled(self, run: Record) -> None:
        """The last look before anything of the graph can run."""
        current = self._engine.store.get(run.run_id)
        if current is None or current.cancel_requested is not None or current.attempt_token != run.attempt_token:
            raise _CannotBeMade("it was stopped while its graph was made")

    def _store(self, call: Call, records: Sequence[Record]) -> list[Record]:
        """What stands then. Raises Unavailable when not all of them are sure to be there."""
        if call.stop.reason is not None:
            raise Unavailable(call.stop.reason)
        outcomes = self._engine.store.create_many(records, self._deadline())
        return [_standing(record, outcome) for record, outcome in zip(records, outcomes, strict=True)]

    def _deadline(self) -> Deadline:
        return Deadline.after(self._engine.clock, PATIENCE_MS)


def _read(call: Call) -> Workflow:
    try:
        return from_payload(call.payload)
    except (ValueError, KeyError, TypeError) as error:
        raise _CannotBeMade(f"its payload is no graph: {error!r}") from error


def _in_order(workflow: Workflow) -> Iterator[list[str]]:
    """All that wait, children before their parents, so many at a time. Those that run at once come after them."""
    roots = set(workflow.graph.roots())
    waiting = [key for key in reversed(order(workflow.graph)) if key not in roots]
    for first in range(0, len(waiting), AT_ONCE):
        yield waiting[first : first + AT_ONCE]


def _standing(record: Record, outcome: Moved | Refused | Undecided) -> Record:
    if isinstance(outcome, Moved):
        return record
    if isinstance(outcome, Undecided) or outcome.current is None:
        raise Unavailable(f"job {record.key} may be stored or not")
    if ended_with_workflow(outcome.current):
        raise _CannotBeMade("its jobs were ended when it could not be made before; submit the workflow again")
    return outcome.current
