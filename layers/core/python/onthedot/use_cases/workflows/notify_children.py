"""When a parent has ended its children are told, one by one; what that ends in turn is told on.

Whoever ends a run calls this; if it dies, the run's watch slot has it, and everything here may happen twice.
"""

from collections import deque
from typing import Final

from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs import dependencies, lifecycle
from onthedot.domain.runs.dependencies import OnParentFailure
from onthedot.domain.runs.endings import has_graph
from onthedot.domain.runs.records import Record, Status
from onthedot.domain.runs.slots import horizon
from onthedot.ports import Deadline, Engine, Moved, Refused
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.dispatch.stamp_runs import stamp_jobs
from onthedot.use_cases.workflows.end_graph import end_graph

PATIENCE_MS: Final = 10_000
TRIES: Final = 8


def notify_children(engine: Engine, ended: Record, deadline: Deadline | None = None) -> bool:
    """Whether all that wait for the run know by now, and all that wait for those which end with it.

    A run that did not make its graph takes those of its jobs that exist with it. Raises Unavailable.
    """
    deadline = deadline or Deadline.after(engine.clock, PATIENCE_MS)
    to_tell = deque([ended])
    whole = True
    while to_tell:
        parent = to_tell.popleft()
        if parent.notify_pending is None:
            continue
        if not deadline.allows(engine.clock.now()):
            return False
        if has_graph(parent) and parent.status is not Status.SUCCEEDED:
            to_tell += end_graph(engine, parent, parent.status, deadline).to_tell
        for child_id in sorted(parent.children):
            spread = notify_child(engine, child_id, parent.run_id, parent)
            if spread is not None:
                to_tell.append(spread)
        move = dependencies.children_know(parent, engine.clock.now(), engine.deployment)
        whole = isinstance(engine.store.move(move), Moved) and whole
    return whole


def notify_child(engine: Engine, child_id: str, parent_id: str, parent: Record | None) -> Record | None:
    """The parent has ended, or is gone. Returns the child if that ended too, and has children of its own to tell."""
    if parent is None or parent.status is not Status.SUCCEEDED:
        child = engine.store.get(child_id)
        if child is None or child.status is not Status.WAITING:
            return _still_to_tell(child)
        if parent_id in child.waits_for and child.on_parent_failure != OnParentFailure.RUN:
            return _give_up(engine, child, parent, parent_id)
    outcome = engine.store.move(dependencies.parent_is_through(child_id, parent_id))
    if isinstance(outcome, Moved) and outcome.run is not None and not outcome.run.waits_for:
        return let_go(engine, outcome.run)
    return None


def _still_to_tell(child: Record | None) -> Record | None:
    """One that ended by what we told it before, and whose own children were not told."""
    return child if child is not None and child.notify_pending is not None else None


def _give_up(engine: Engine, child: Record, parent: Record | None, parent_id: str) -> Record | None:
    for _ in range(TRIES):
        move = dependencies.give_up(child, parent, parent_id, engine.clock.now(), engine.deployment)
        outcome = engine.store.move(move)
        if isinstance(outcome, Moved):
            return lifecycle.applied(child, move)
        if outcome.current is None or outcome.current.status is not Status.WAITING:
            return _still_to_tell(outcome.current)
        child = outcome.current  # a grandchild came meanwhile
    return None


def let_go(engine: Engine, child: Record) -> Record | None:
    """Schedule a child that waits for nobody any more. Returns it if it ended instead, with children to tell."""
    now = engine.clock.now()
    move = dependencies.let_go(child, now, generation=fresh_generation(), deployment=engine.deployment)
    outcome = engine.store.move(move)
    if isinstance(outcome, Refused):
        return None  # somebody else was faster
    let = lifecycle.applied(child, move)
    deadline = Deadline(now + PATIENCE_MS)
    if let.status is Status.DISPATCHED:
        send_runs(engine, [let], deadline)
    if let.status is Status.ACTIVE and let.fire_at < horizon(now, engine.deployment.lookahead):
        stamp_jobs(engine, [let.run_id], f"release/{fresh_generation()}", deadline)
    return let if let.notify_pending is not None else None


def link_to_parents(engine: Engine, child: Record) -> None:
    """Tell every parent of a new child that it waits. Of one that has ended by now, the child hears at once."""
    for parent_id in child.parents:
        parent = _adopted_by(engine, parent_id, child.run_id)
        if parent is None or dependencies.has_ended(parent):
            spread = notify_child(engine, child.run_id, parent_id, parent)
            if spread is not None:
                notify_children(engine, spread)
    engine.store.move(dependencies.all_know(child))


def _adopted_by(engine: Engine, parent_id: str, child_id: str) -> Record | None:
    """The parent, as it is once it knows of the child or has ended; None: there is no such job."""
    parent = engine.store.get(parent_id)
    while parent is not None and not dependencies.has_ended(parent):
        outcome = engine.store.move(dependencies.adopt(parent, child_id))
        if isinstance(outcome, Moved):
            return outcome.run
        parent = outcome.current
    return parent
