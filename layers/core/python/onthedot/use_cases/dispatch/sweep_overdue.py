"""Sweep a watch slot: handle the runs that were sent and have not ended by the time of the slot."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.endings import has_graph
from onthedot.domain.runs.records import Priority, Record, Status
from onthedot.domain.runs.slots import DECISION_MS
from onthedot.domain.runs.sweep import Act, Leave, decide, is_backlogged
from onthedot.ports import Backlog, Deadline, Engine, Moved, Undecided
from onthedot.use_cases.dispatch.keep_jobs import keep_jobs_of
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.dispatch.slot_entries import read_slot_entries
from onthedot.use_cases.jobs.given_up import store_given_up
from onthedot.use_cases.workflows.notify_children import link_to_parents, notify_children

RUNS_PER_ROUND: Final = 100


@dataclass(slots=True)
class Sweep:
    """The sweep of one watch slot while it is under way."""

    engine: Engine
    slot: str
    claim_token: str
    deadline: Deadline
    whole: bool = True
    """Whether no run was left in the slot that needs another sweep."""
    counts: Counter[str] = field(default_factory=Counter)
    backlogs: dict[tuple[str, Priority], Backlog] = field(default_factory=dict)


def sweep_slot(engine: Engine, slot: str, claim_token: str, deadline: Deadline) -> Sweep:
    """Check each run of a watch slot: resend it, move it to a later slot, declare its attempt lost, or end it."""
    sweep = Sweep(engine, slot, claim_token, deadline)
    for entries in read_slot_entries(engine, slot, RUNS_PER_ROUND):
        if not deadline.allows(engine.clock.now()):
            sweep.whole = False
            return sweep
        ids = [entry.run_id for entry in entries]
        runs = engine.store.get_many(ids, deadline)
        sweep.whole = sweep.whole and len(runs) == len(ids)
        _sweep_runs(sweep, list(runs.values()))
    return sweep


def _sweep_runs(sweep: Sweep, runs: Sequence[Record]) -> None:
    engine = sweep.engine
    now = engine.clock.now()
    acts: list[tuple[Record, Act]] = []
    for run in runs:
        if run.slot == sweep.slot and run.given_up is not None:
            _store_given_up(sweep, run)
            continue
        if run.slot == sweep.slot and _must_notify(run):
            _notify(sweep, run)
            continue
        decision = decide(
            run,
            sweep.slot,
            now=now,
            backlogged=run.status is Status.DISPATCHED and _backlogged(sweep, run, now),
            claim_token=sweep.claim_token,
            generation=fresh_generation(),
            deployment=engine.deployment,
        )
        if isinstance(decision, Act):
            acts.append((run, decision))
        elif isinstance(decision, Leave):
            sweep.whole = False
            sweep.counts["left"] += 1
    if acts:
        _apply(sweep, acts, sweep.deadline.at_most(now + DECISION_MS))


def _store_given_up(sweep: Sweep, job: Record) -> None:
    """Store the times that a job has given up, because the process that changed the job died."""
    try:
        store_given_up(sweep.engine, job)
        sweep.counts["given_up"] += 1
    except Unavailable:
        sweep.whole = False


def _must_notify(run: Record) -> bool:
    """Return whether a step between parents and children is unfinished, because the process that did it died."""
    return run.notify_pending is not None or run.status is Status.WAITING


def _notify(sweep: Sweep, run: Record) -> None:
    """Link a waiting run to its parents, or notify the children of an ended run."""
    try:
        if run.notify_pending is None:
            link_to_parents(sweep.engine, run)
        elif not notify_children(sweep.engine, run, sweep.deadline):
            sweep.whole = False
        sweep.counts["notified"] += 1
    except Unavailable:
        sweep.whole = False
        if has_graph(run):
            # The dispatcher cannot read blobs, which hold large graphs. A worker can, when it gets the message again.
            send_runs(sweep.engine, [replace(run, fire_at=sweep.engine.clock.now())], sweep.deadline)


def _apply(sweep: Sweep, acts: Sequence[tuple[Record, Act]], deadline: Deadline) -> None:
    outcomes = sweep.engine.store.move_many([act.move for _, act in acts], deadline)
    to_send: list[Record] = []
    for (run, act), outcome in zip(acts, outcomes, strict=True):
        if isinstance(outcome, Undecided):
            sweep.whole = False
            sweep.counts["throttled"] += 1
        elif isinstance(outcome, Moved):
            sweep.counts[act.what] += 1
            _notify_children(sweep, lifecycle.applied(run, act.move))
            if act.send and act.move.to is Status.DISPATCHED:
                to_send.append(lifecycle.applied(run, act.move))
    keep_jobs_of(sweep.engine, [run for run, act in acts if act.what == "waits"], deadline)
    if to_send:
        # A run that stays unsent is found again in the watch slot to which it was just moved.
        sweep.counts["unsent_by_sweep"] += send_runs(sweep.engine, to_send, deadline)


def _notify_children(sweep: Sweep, run: Record) -> None:
    """Notify the children of a run that the sweep has ended. If this fails, the run stays in its new watch slot."""
    if run.notify_pending is not None:
        with suppress(Unavailable):
            notify_children(sweep.engine, run, sweep.deadline)


def _backlogged(sweep: Sweep, run: Record, now: int) -> bool:
    key = (run.pool, run.priority)
    if key not in sweep.backlogs:
        sweep.backlogs[key] = sweep.engine.queues.backlog(*key)
    return is_backlogged(now - run.fire_at, sweep.backlogs[key].visible, sweep.backlogs[key].oldest_age_ms)
