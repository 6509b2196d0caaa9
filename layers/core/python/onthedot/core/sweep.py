"""Sweep a watch slot: handle the runs that were sent and have not ended by the time of the slot, and look at gates."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.claim import Pass
from onthedot.core.errors import Unavailable
from onthedot.core.find_pool import NoPool, end_without_job, find_pool, has_pool
from onthedot.core.ids import fresh_generation
from onthedot.core.lifecycle import has_graph
from onthedot.core.moves import Move, applied
from onthedot.core.pools import PoolKind
from onthedot.core.ports import Deadline, Moved, SlotEntry, Undecided
from onthedot.core.records import Kind, Record, Status
from onthedot.core.send import message_for, read_slot_pages, send_runs
from onthedot.core.set_aside import UNHANDLED, fault_of, faults_of
from onthedot.core.slots import DECISION_MS, Deployment, slot_shard
from onthedot.core.stamp import store_given_up
from onthedot.core.start import definition_of, keep_jobs_of
from onthedot.core.start_window import has_expired

PATIENCE_MS: Final = 10 * 60_000
"""While a queue has a backlog, the sweep leaves a run in its slot for this long, which costs one read a minute. After
that it moves the run to later slots at growing intervals, which costs a write each time."""
LONG_WAIT_MS: Final = 60 * 60_000
"""A run that waits for a worker of a pull pool for longer than this is counted for an alarm. In a push pool, where
Lambda starts the workers, the patience above is enough."""


@dataclass(frozen=True, slots=True)
class Act:
    move: Move
    what: str
    send: bool = True
    """Whether to send the message of the run again once the move is applied, because it may be gone."""


@dataclass(frozen=True, slots=True)
class Leave:
    """The decision to leave the run in its slot for the next tick. The pass does not count the slot as done."""

    why: str


def decide(
    run: Record,
    slot: str,
    *,
    now: int,
    backlogged: bool | None,
    claim_token: str,
    generation: str,
    deployment: Deployment,
    never_begun: bool = False,
) -> Act | Leave | None:
    """Decide by the status of the run. None: it has left the slot, and the index lagged.

    `backlogged` says that its message may still wait in its queue. None: the queue cannot be asked now.
    `never_begun` says of an attempt whose lease is over that its worker never knew of it.
    """
    if run.slot != slot:
        return None
    if run.status is not Status.RUNNING:
        return _look_after_message(run, now, backlogged, claim_token, deployment)
    if not lifecycle.lease_is_over(run, now):
        return Act(lifecycle.repark(run, now, deployment), "reparked")
    if never_begun:
        return Act(lifecycle.take_back(run, now, generation=generation, deployment=deployment), "taken_back")
    return Act(lifecycle.lose(run, now, generation=generation, deployment=deployment), "lost")


def _look_after_message(
    run: Record, now: int, backlogged: bool | None, claim_token: str, deployment: Deployment
) -> Act | Leave:
    if has_expired(run, now):
        return Act(lifecycle.skip_expired(run, now, deployment), "expired", send=False)
    if backlogged is None:
        # A message that is sent to such a queue is most likely not delivered, and must not count as a resend.
        later = lifecycle.look_later(run, now, deployment, lifecycle.QUEUE_AWAY_PART)
        return Act(later, "queue_unavailable", send=False)
    if backlogged and now - run.due_at < PATIENCE_MS:
        return Leave("its queue is backlogged")
    if backlogged:
        # Perhaps no worker serves the pool for days. If the run stayed in this slot, every tick would read it again.
        return Act(lifecycle.look_later(run, now, deployment), "waits", send=False)
    if run.resends >= lifecycle.MAX_RESENDS and _is_pushed(run, deployment):
        return Act(lifecycle.undeliverable(run, now, deployment), "undeliverable")
    return Act(lifecycle.resend(run, now, claim_token=claim_token, deployment=deployment), "resent")


def waits_long(run: Record, now: int, deployment: Deployment) -> bool:
    most = PATIENCE_MS if _is_pushed(run, deployment) else LONG_WAIT_MS
    return run.status is Status.DISPATCHED and now - run.due_at > most


def _is_pushed(run: Record, deployment: Deployment) -> bool:
    """Return whether the queue of the run invokes its workers, so that a run that none starts has a broken function."""
    pool = deployment.pools.get(run.pool)
    return pool is not None and pool.kind is PoolKind.PUSH


_LOG: Final = logging.getLogger(__name__)
RUNS_PER_ROUND: Final = 100
LOOK_MS: Final = 20_000
"""The longest look at one gate. The next look goes on."""
_SWEPT: Final = (Status.DISPATCHED, Status.RUNNING)


@dataclass(slots=True)
class Sweep:
    work: Pass
    slot: str
    whole: bool = True
    """Whether no run and no gate was left in the slot."""

    def leave(self) -> None:
        self.whole = False
        self.work.counts["left"] += 1

    def set_aside(self, faults: dict[str, str]) -> None:
        self.whole = self.work.set_aside(self.slot, faults) and self.whole


def sweep_slot(work: Pass, slot: str) -> bool:
    """Check each run of a watch slot: resend it, move it to a later slot, declare its attempt lost, or end it.

    Look at each gate of the slot until the time for looks is over. Return False if a run or a gate was left in it.
    """
    sweep = Sweep(work, slot)
    engine, deadline = work.engine, work.deadline
    for page in read_slot_pages(engine, slot, RUNS_PER_ROUND):
        if not deadline.allows(engine.clock.now()):
            return False
        sweep.set_aside(faults_of(page.unreadable))
        gates = [entry for entry in page.items if entry.kind is Kind.GATE]
        read = engine.store.get_many([e.run_id for e in page.items if e.kind is not Kind.GATE], deadline)
        sweep.whole = sweep.whole and not read.unread
        sweep.set_aside(faults_of(one for one in read.unreadable.values() if one.slot == slot))
        _sweep_runs(sweep, [run for run in read.found.values() if run.slot == slot])
        _look_at_gates(sweep, gates)
    return sweep.whole


def _look_at_gates(sweep: Sweep, entries: Sequence[SlotEntry]) -> None:
    """Look at each gate separately, and at none for long: a gate must not stop the others, nor the runs of the tick."""
    work = sweep.work
    for entry in entries:
        now = work.engine.clock.now()
        if not work.look_until.allows(now):
            sweep.whole = False
            work.gates_left.add(slot_shard(sweep.slot))
            return
        deadline = work.deadline.at_most(now + LOOK_MS)
        sweep.whole = work.points.look_at(entry.run_id, sweep.slot, work.claim_token, deadline) and sweep.whole


def _sweep_runs(sweep: Sweep, runs: Sequence[Record]) -> None:
    work = sweep.work
    now = work.engine.clock.now()
    acts: list[tuple[Record, Act]] = []
    for run in runs:
        try:
            act = _act(sweep, run, now)
        except Unavailable as error:
            _LOG.warning("not_swept", extra={"run": run.run_id, "slot": sweep.slot, "error": str(error)})
            sweep.leave()
        except Exception as error:  # noqa: BLE001
            # One run that cannot be handled must not stop the sweep of the others.
            _LOG.exception("not_swept", extra={"run": run.run_id, "slot": sweep.slot})
            sweep.set_aside({run.run_id: f"{UNHANDLED}{type(error).__name__}: {error}"})
        else:
            acts += [] if act is None else [(run, act)]
    if acts:
        _apply(sweep, acts, work.deadline.at_most(now + DECISION_MS))


def _act(sweep: Sweep, run: Record, now: int) -> Act | None:
    work = sweep.work
    if run.given_up is not None:
        store_given_up(work.engine, run)  # the process that changed the job died
        work.counts["given_up"] += 1
        return None
    if run.notify_pending is not None or run.status is Status.WAITING:
        # A step between parents and children is unfinished, because the process that did it died.
        _notify(sweep, run)
        return None
    if run.status not in _SWEPT:
        sweep.set_aside({run.run_id: f"it is {run.status} in a watch slot"})
        return None
    if run.status is Status.DISPATCHED and not has_pool(work.engine, run) and not has_expired(run, now):
        return _reroute(sweep, run, now)
    decision = decide(
        run,
        sweep.slot,
        now=now,
        backlogged=work.queues.may_hold(run, now) if run.status is Status.DISPATCHED else False,
        claim_token=work.claim_token,
        generation=fresh_generation(),
        deployment=work.engine.deployment,
        never_begun=work.engine.points.was_never_begun(work.engine, run, now),
    )
    if isinstance(decision, Leave):
        sweep.leave()
        return None
    return decision


def _reroute(sweep: Sweep, run: Record, now: int) -> Act:
    engine = sweep.work.engine
    pool = find_pool(engine, run.pool, run.tenant, definition_of(engine, run))
    if isinstance(pool, NoPool) and pool.for_ever:
        return Act(end_without_job(run, now, engine.deployment), "without_job", send=False)
    if isinstance(pool, NoPool):
        waits = lifecycle.look_later(run, now, engine.deployment)
        return Act(replace(waits, changes={**waits.changes, "reason": pool.why}), "without_pool", send=False)
    why = f"pool {run.pool} is gone, so the run moved to pool {pool}"
    generation = fresh_generation()
    return Act(lifecycle.reroute(run, pool, now, why, generation=generation, deployment=engine.deployment), "rerouted")


def _notify(sweep: Sweep, run: Record) -> None:
    work = sweep.work
    try:
        if run.notify_pending is None:
            work.engine.points.link_to_parents(work.engine, run)
        elif not work.engine.notify_children(run, work.deadline):
            sweep.whole = False
        work.counts["notified"] += 1
    except Unavailable:
        sweep.whole = False
        if has_graph(run):
            # The dispatcher cannot read blobs, which hold large graphs. A worker can, when it gets the message again.
            send_runs(work.engine, [replace(run, due_at=work.engine.clock.now())], work.deadline)


def _apply(sweep: Sweep, acts: Sequence[tuple[Record, Act]], deadline: Deadline) -> None:
    work = sweep.work
    outcomes = work.engine.store.move_many([act.move for _, act in acts], deadline)
    to_send: list[Record] = []
    ended: list[Record] = []
    faults: dict[str, str] = {}
    for (run, act), outcome in zip(acts, outcomes, strict=True):
        fault = fault_of(outcome, act.move)
        if fault is not None:
            faults[run.run_id] = fault
        elif isinstance(outcome, Undecided):
            sweep.whole = False
            work.counts["throttled"] += 1
        elif isinstance(outcome, Moved):
            written = applied(run, act.move)
            work.counts[act.what] += 1
            work.counts["waiting_long"] += waits_long(run, work.engine.clock.now(), work.engine.deployment)
            with suppress(Unavailable):  # the run stays in its new watch slot until its children are notified
                work.engine.notify_children(written, work.deadline)
            if run.status is Status.RUNNING and act.move.to is not Status.RUNNING:
                ended.append(run)
            if act.send and act.move.to is Status.DISPATCHED:
                to_send.append(written)
    sweep.set_aside(faults)
    keep_jobs_of(work.engine, [run for run, _ in acts], deadline)
    if to_send:
        _send(sweep, to_send, deadline)
    _give_back_places(sweep, ended)


def _give_back_places(sweep: Sweep, ended: Sequence[Record]) -> None:
    """Give back the places of lost attempts while time is left: a look frees the others when needed."""
    work = sweep.work
    for run in ended:
        if not work.look_until.allows(work.engine.clock.now()):
            return
        try:
            work.engine.give_back_places(run)
        except Exception:  # noqa: BLE001 - whatever is wrong with its places, the others are given back
            _LOG.exception("place_not_given_back", extra={"run": run.run_id, "slot": sweep.slot})


def _send(sweep: Sweep, runs: Sequence[Record], deadline: Deadline) -> None:
    """Send runs. A run that stays unsent is found again in a later watch slot, and this resend does not count."""
    work, engine = sweep.work, sweep.work.engine
    now = engine.clock.now()
    unsent = {message.run_id for message in engine.queues.send([message_for(run) for run in runs], deadline)}
    work.counts["unsent_by_sweep"] += len(unsent)
    not_resent = [run for run in runs if run.run_id in unsent and run.resends]
    if not_resent:
        engine.store.move_many([lifecycle.uncount_resend(run, now, engine.deployment) for run in not_resent], deadline)
