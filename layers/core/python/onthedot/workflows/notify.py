"""Notify the children of a run that ended, one by one.

When a child ends because of it, the child's own children are notified too. The process that ends a run calls this. If
that process dies, the sweep finds the run in its watch slot and calls this again, so every step may be repeated.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from onthedot.core import patience
from onthedot.core.choices import OnParentFailure
from onthedot.core.errors import OnthedotError, Unavailable, UnreadableRecord
from onthedot.core.ids import fresh_generation
from onthedot.core.lifecycle import has_graph
from onthedot.core.moves import Move, applied
from onthedot.core.ports import Deadline, Moved, Refused
from onthedot.core.records import TERMINAL, Record, Status
from onthedot.core.send import send_runs
from onthedot.core.slots import horizon
from onthedot.core.stamp import stamp_jobs
from onthedot.engine import Engine
from onthedot.workflows import dependencies
from onthedot.workflows.end import end_graph

_LOG: Final = logging.getLogger(__name__)
TRIES: Final = 8
MANY: Final = 100
"""With more children than this, the children that are notified already are read first and left out."""


@dataclass(slots=True)
class _Notified:
    to_notify: list[Record] = field(default_factory=list)
    """Jobs that ended with the run, and whose own children are to be notified."""
    out_of_time: bool = False
    unavailable: Unavailable | None = None
    """The first failure of the store."""
    unreadable: bool = False
    """Whether a child cannot be read."""

    @contextmanager
    def apart(self, run_id: str) -> Iterator[None]:
        """Note an error of one step, so that it does not stop other steps."""
        try:
            yield
        except Unavailable as error:
            self.unavailable = self.unavailable or error
        except OnthedotError as error:
            self.unreadable = True
            _LOG.error("child_not_notified", extra={"run": run_id, "why": str(error)})


def notify_children(engine: Engine, ended: Record, deadline: Deadline | None = None) -> bool:
    """Notify the run's children, and the children of each child that ends with it. Return whether all are notified.

    A run that did not make its whole graph ends the jobs of the graph that exist. A child that cannot be notified stops
    no other. Raise Unavailable after the others when the store failed.
    """
    deadline = deadline or Deadline.after(engine.clock.now(), patience.NOTIFY_MS)
    to_notify = deque([ended])
    whole, unavailable = True, None
    while to_notify:
        parent = to_notify.popleft()
        if parent.notify_pending is None:
            continue
        notified = _notify_all(engine, parent, deadline)
        to_notify += notified.to_notify
        unavailable = unavailable or notified.unavailable
        whole = _leaves_slot(engine, parent, notified) and whole
    if unavailable is not None:
        raise unavailable
    return whole


def _notify_all(engine: Engine, parent: Record, deadline: Deadline) -> _Notified:
    notified = _Notified(out_of_time=not deadline.allows(engine.clock.now()))
    if notified.out_of_time:
        return notified
    children = sorted(parent.children)
    with notified.apart(parent.run_id):
        if has_graph(parent) and parent.status is not Status.SUCCEEDED:
            ended = end_graph(engine, parent, parent.status, deadline)
            notified.to_notify += ended.to_notify
            if ended.unreadable is not None:
                raise UnreadableRecord(ended.unreadable)
    with notified.apart(parent.run_id):
        children = _not_notified(engine, parent, deadline) if len(children) > MANY else children
    for child_id in children:
        if not deadline.allows(engine.clock.now()):
            notified.out_of_time = True
            return notified
        with notified.apart(child_id):
            ended_child = notify_child(engine, child_id, parent.run_id, parent)
            notified.to_notify += [] if ended_child is None else [ended_child]
    return notified


def _not_notified(engine: Engine, parent: Record, deadline: Deadline) -> list[str]:
    """Return the children that no earlier try has notified, so that each try gets further than the one before."""
    read = engine.store.get_many(sorted(parent.children), deadline)
    return [
        child_id for child_id in sorted(parent.children) if not _is_notified(read.found.get(child_id), parent.run_id)
    ]


def _is_notified(child: Record | None, parent_id: str) -> bool:
    """Return whether nothing is left to do for a child. None: it is gone, or was not read in time."""
    if child is None:
        return False
    if child.status is Status.WAITING:
        return bool(child.waits_for) and parent_id not in child.waits_for
    return child.notify_pending is None


def _leaves_slot(engine: Engine, parent: Record, notified: _Notified) -> bool:
    """Take a run whose children are notified out of its watch slot. Return whether it left the slot."""
    if notified.out_of_time or notified.unavailable is not None:
        return False
    make = dependencies.notify_later if notified.unreadable else dependencies.all_notified
    return isinstance(engine.store.move(make(parent, engine.clock.now(), engine.deployment)), Moved)


def notify_child(engine: Engine, child_id: str, parent_id: str, parent: Record | None) -> Record | None:
    """Notify a child that its parent has ended, or is gone.

    Return the child if it ended too and has children to notify.
    """
    if parent is None or parent.status is not Status.SUCCEEDED:
        child = engine.store.get(child_id)
        if child is None or child.status is not Status.WAITING:
            return _if_pending(child)
        if parent_id in child.waits_for and child.on_parent_failure != OnParentFailure.RUN:
            now, deployment = engine.clock.now(), engine.deployment
            return _end_child(
                engine, child, lambda child: dependencies.end_by_policy(child, parent, parent_id, now, deployment)
            )
    outcome = _move(engine, dependencies.remove_parent(child_id, parent_id))
    if isinstance(outcome, Moved) and outcome.run is not None and not outcome.run.waits_for:
        return _schedule_child(engine, outcome.run)
    return None


def _move(engine: Engine, move: Move) -> Moved | Refused:
    """Apply a move. Raise UnreadableRecord when the record that refuses it cannot be read."""
    outcome = engine.store.move(move)
    if isinstance(outcome, Refused) and outcome.unreadable is not None:
        raise UnreadableRecord(outcome.unreadable)
    return outcome


def _if_pending(child: Record | None) -> Record | None:
    """Return a child that ended when it was notified before, and whose own children were not notified."""
    return child if child is not None and child.notify_pending is not None else None


def _end_child(engine: Engine, child: Record, end: Callable[[Record], Move]) -> Record | None:
    """End a child that must not run. Return it if its own children are to be notified."""
    for _ in range(TRIES):
        move = end(child)
        outcome = _move(engine, move)
        if isinstance(outcome, Moved):
            return _if_pending(applied(child, move))
        if outcome.current is None or outcome.current.status is not Status.WAITING:
            return _if_pending(outcome.current)
        child = outcome.current  # a job was added meanwhile that waits for this child
    raise Unavailable(f"{child.run_id} keeps changing; try again")


def _schedule_child(engine: Engine, child: Record) -> Record | None:
    """Schedule a child whose parents have all ended. Return it if it ended instead and has children to notify."""
    now = engine.clock.now()
    move = dependencies.schedule(child, now, generation=fresh_generation(), deployment=engine.deployment)
    outcome = _move(engine, move)
    if isinstance(outcome, Refused):
        return None  # another process scheduled it first
    scheduled = applied(child, move)
    deadline = Deadline.after(now, patience.NOTIFY_MS)
    if scheduled.status is Status.DISPATCHED:
        send_runs(engine, [scheduled], deadline)
    if scheduled.status is Status.ACTIVE and scheduled.due_at < horizon(now, engine.deployment.lookahead):
        stamp_jobs(engine, [scheduled.run_id], f"release/{fresh_generation()}", deadline)
    return _if_pending(scheduled)


def link_to_parents(engine: Engine, child: Record) -> None:
    """Link a new child to each of its parents. When a parent has already ended, notify the child at once.

    A child for which a parent has no room fails with that reason. Raise Unavailable: then the child stays in its watch
    slot, and the sweep links it.
    """
    deadline = Deadline.after(engine.clock.now(), patience.NOTIFY_MS)
    for parent_id in child.parents:
        if not deadline.allows(engine.clock.now()):
            raise Unavailable(f"{child.run_id} could not be linked to all its parents in time")
        parent = _record_in_parent(engine, parent_id, child.run_id)
        ended_child = None
        if parent is None or parent.status in TERMINAL:
            ended_child = notify_child(engine, child.run_id, parent_id, parent)
        elif child.run_id not in parent.children:
            ended_child = _end_unlinked(engine, child, parent)
        if ended_child is not None:
            notify_children(engine, ended_child)
    engine.store.move(dependencies.linked_to_all(child))


def _record_in_parent(engine: Engine, parent_id: str, child_id: str) -> Record | None:
    """Record the child in the parent, unless the parent has ended or has no room. Return the parent as it is then.

    None: there is no such job. Raise Unavailable.
    """
    parent = engine.store.get(parent_id)
    for _ in range(TRIES):
        if parent is None or parent.status in TERMINAL or not dependencies.needs_link(parent, child_id):
            return parent
        outcome = _move(engine, dependencies.link_child(parent, child_id))
        if isinstance(outcome, Moved):
            return outcome.run
        parent = outcome.current
    raise Unavailable(f"{parent_id} keeps changing; try again")


def _end_unlinked(engine: Engine, child: Record, parent: Record) -> Record | None:
    now, deployment = engine.clock.now(), engine.deployment
    return _end_child(engine, child, lambda child: dependencies.end_unlinked(child, parent, now, deployment))
