"""End a run whose time to start is over."""

from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.endings import closed, concluded, has_graph
from onthedot.domain.runs.records import Record
from onthedot.ports import Engine
from onthedot.use_cases.outcomes import current_record
from onthedot.use_cases.workflows.notify_children import notify_children


def skip_expired(engine: Engine, run: Record) -> bool:
    """End a run that waits at a gate and has not started in time. Return whether it has ended."""
    now = engine.clock.now()
    ended = concluded(run, now, engine.deployment) if run.children or has_graph(run) else closed(now, engine.deployment)
    why = f"not started within {run.start_within_seconds} s"
    current = current_record(engine.store.move(lifecycle.skip_waiting(run, why, ended)))
    if current is not None:
        notify_children(engine, current)
    return current is not None
