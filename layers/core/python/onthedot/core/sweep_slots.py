"""Decide what the sweep does with a run that it finds in a watch slot whose time has come, with the reason."""

from dataclasses import dataclass
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.moves import Move
from onthedot.core.pools import PoolKind
from onthedot.core.records import Record, Status
from onthedot.core.slots import Deployment
from onthedot.core.start_window import has_expired

PATIENCE_MS: Final = 10 * 60_000
"""While a queue has a backlog, the sweep leaves a run in its slot for this long, which costs one read a minute. After
that it moves the run to later slots at growing intervals, which costs a write each time."""
LONG_WAIT_MS: Final = 60 * 60_000
"""A run that waits for a worker of a pull pool for longer than this is counted for an alarm. In a push pool, where
Lambda starts the workers, the patience above is enough."""


@dataclass(frozen=True, slots=True)
class Act:
    """The decision to apply a move."""

    move: Move
    what: str
    """The action word for logs and counts."""
    send: bool = True
    """Whether to send the message of the run again once the move is applied, because it may be gone."""


@dataclass(frozen=True, slots=True)
class Leave:
    """The decision to leave the run in its slot for the next tick. The pass does not count the slot as done."""

    why: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """The decision to do nothing: the run has left the slot, and the index lagged."""


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
) -> Act | Leave | Nothing:
    """Decide by the status of the run.

    `backlogged` says that its message may still wait in its queue. None: the queue cannot be asked now.
    `never_begun` says of an attempt whose lease is over that its worker never knew of it.
    """
    if run.slot != slot:
        return Nothing()
    if run.status is Status.RUNNING:
        return _look_after_attempt(run, now, generation, deployment, never_begun=never_begun)
    return _look_after_message(run, now, backlogged, claim_token, deployment)


def _look_after_message(
    run: Record, now: int, backlogged: bool | None, claim_token: str, deployment: Deployment
) -> Act | Leave:
    if has_expired(run, now):
        return Act(lifecycle.skip_expired(run, now, deployment), "expired", send=False)
    if backlogged is None:
        # A message that is sent to such a queue is most likely not delivered, and must not count as a resend.
        return Act(
            lifecycle.look_later(run, now, deployment, lifecycle.QUEUE_AWAY_PART), "queue_unavailable", send=False
        )
    if backlogged and now - run.due_at < PATIENCE_MS:
        return Leave("its queue is backlogged")
    if backlogged:
        # Perhaps no worker serves the pool for days. If the run stayed in this slot, every tick would read it again.
        return Act(lifecycle.look_later(run, now, deployment), "waits", send=False)
    if run.resends >= lifecycle.MAX_RESENDS and _is_pushed(run, deployment):
        return Act(lifecycle.undeliverable(run, now, deployment), "undeliverable")
    return Act(lifecycle.resend(run, now, claim_token=claim_token, deployment=deployment), "resent")


def waits_long(run: Record, now: int, deployment: Deployment) -> bool:
    """Return whether the run has waited for a worker for so long that a person should know."""
    most = PATIENCE_MS if _is_pushed(run, deployment) else LONG_WAIT_MS
    return run.status is Status.DISPATCHED and now - run.due_at > most


def _is_pushed(run: Record, deployment: Deployment) -> bool:
    """Return whether the queue of the run invokes its workers.

    If it does and no worker starts the run, the function is broken. In a pull pool a run waits for a worker that can
    take it, for as long as there is none.
    """
    pool = deployment.pools.get(run.pool)
    return pool is not None and pool.kind is PoolKind.PUSH


def _look_after_attempt(run: Record, now: int, generation: str, deployment: Deployment, *, never_begun: bool) -> Act:
    if not lifecycle.lease_is_over(run, now):
        return Act(lifecycle.repark(run, now, deployment), "reparked")
    if never_begun:
        return Act(lifecycle.take_back(run, now, generation=generation, deployment=deployment), "taken_back")
    return Act(lifecycle.lose(run, now, generation=generation, deployment=deployment), "lost")


def is_backlogged(lateness_ms: int, visible: int, oldest_age_ms: int | None) -> bool:
    """Return whether a queue may still hold the run's message: its oldest message is as old as the run is late.

    On AWS the age includes a message's delay. So the sweep may resend a run some minutes later than necessary.
    """
    if visible == 0:
        return False
    return oldest_age_ms is None or oldest_age_ms >= lateness_ms
