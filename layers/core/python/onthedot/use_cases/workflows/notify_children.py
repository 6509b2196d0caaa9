"""Notify the children of a run that ended, one by one.

When a child ends because of it, the child's own children are notified too. The process that ends a run calls this. If
that process dies, the sweep finds the run in its watch slot and calls this again, so every step may be repeated.
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
from onthedot.use_cases import patience
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.dispatch.stamp_runs import stamp_jobs
from onthedot.use_cases.workflows.end_graph import end_graph

TRIES: Final = 8


def notify_children(engine: Engine, ended: Record, deadline: Deadline | None = None) -> bool:
    """Notify the run's children, and the children of each child that ends with it. Return whether all are notified.

    A run that did not make its whole graph ends the jobs of the graph that exist. Raise Unavailable.
    """
    deadline = deadline or Deadline.after(engine.clock.now(), patience.NOTIFY_MS)
    to_notify = deque([ended])
    whole = True
    while to_notify:
        parent = to_notify.popleft()
        if parent.notify_pending is None:
            continue
        if not deadline.allows(engine.clock.now()):
            return False
        if has_graph(parent) and parent.status is not Status.SUCCEEDED:
            to_notify += end_graph(engine, parent, parent.status, deadline).to_notify
        for child_id in sorted(parent.children):
            ended_child = notify_child(engine, child_id, parent.run_id, parent)
            if ended_child is not None:
                to_notify.append(ended_child)
        move = dependencies.all_notified(parent, engine.clock.now(), engine.deployment)
        whole = isinstance(engine.store.move(move), Moved) and whole
    return whole


def notify_child(engine: Engine, child_id: str, parent_id: str, parent: Record | None) -> Record | None:
    """Notify a child that its parent has ended, or is gone.

    Return the child if it ended too and has children to notify.
    """
    if parent is None or parent.status is not Status.SUCCEEDED:
        child = engine.store.get(child_id)
        if child is None or child.status is not Status.WAITING:
            return _if_pending(child)
        if parent_id in child.waits_for and child.on_parent_failure != OnParentFailure.RUN:
            return _end_child(engine, child, parent, parent_id)
    outcome = engine.store.move(dependencies.remove_parent(child_id, parent_id))
    if isinstance(outcome, Moved) and outcome.run is not None and not outcome.run.waits_for:
        return schedule_child(engine, outcome.run)
    return None


def _if_pending(child: Record | None) -> Record | None:
    """Return a child that ended when it was notified before, and whose own children were not notified."""
    return child if child is not None and child.notify_pending is not None else None


def _end_child(engine: Engine, child: Record, parent: Record | None, parent_id: str) -> Record | None:
    """End a child whose parent did not succeed. Return it if its own children are to be notified."""
    for _ in range(TRIES):
        move = dependencies.end_by_policy(child, parent, parent_id, engine.clock.now(), engine.deployment)
        outcome = engine.store.move(move)
        if isinstance(outcome, Moved):
            return lifecycle.applied(child, move)
        if outcome.current is None or outcome.current.status is not Status.WAITING:
            return _if_pending(outcome.current)
        child = outcome.current  # a job was added meanwhile that waits for this child
    return None


def schedule_child(engine: Engine, child: Record) -> Record | None:
    """Schedule a child whose parents have all ended. Return it if it ended instead and has children to notify."""
    now = engine.clock.now()
    move = dependencies.schedule(child, now, generation=fresh_generation(), deployment=engine.deployment)
    outcome = engine.store.move(move)
    if isinstance(outcome, Refused):
        return None  # another process scheduled it first
    scheduled = lifecycle.applied(child, move)
    deadline = Deadline.after(now, patience.NOTIFY_MS)
    if scheduled.status is Status.DISPATCHED:
        send_runs(engine, [scheduled], deadline)
    if scheduled.status is Status.ACTIVE and scheduled.fire_at < horizon(now, engine.deployment.lookahead):
        stamp_jobs(engine, [scheduled.run_id], f"release/{fresh_generation()}", deadline)
    return _if_pending(scheduled)


def link_to_parents(engine: Engine, child: Record) -> None:
    """Link a new child to each of its parents. When a parent has ended by now, notify the child at once."""
    for parent_id in child.parents:
        parent = _record_in_parent(engine, parent_id, child.run_id)
        if parent is None or dependencies.has_ended(parent):
            ended_child = notify_child(engine, child.run_id, parent_id, parent)
            if ended_child is not None:
                notify_children(engine, ended_child)
    engine.store.move(dependencies.linked_to_all(child))


def _record_in_parent(engine: Engine, parent_id: str, child_id: str) -> Record | None:
    """Record the child in the parent, unless the parent has ended. Return the parent as it is then.

    None: there is no such job.
    """
    parent = engine.store.get(parent_id)
    while parent is not None and not dependencies.has_ended(parent):
        outcome = engine.store.move(dependencies.link_child(parent, child_id))
        if isinstance(outcome, Moved):
            return outcome.run
        parent = outcome.current
    return parent
