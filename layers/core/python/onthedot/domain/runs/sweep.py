"""What to do with a run found in a watch slot whose time has come: a pure decision with its reason."""

from dataclasses import dataclass
from typing import Final

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Move, Record, Status

PATIENCE_MS: Final = 10 * 60_000
"""How long a backlog is waited for at the price of a read a minute; after that, of a write at growing intervals."""


@dataclass(frozen=True, slots=True)
class Act:
    """Apply the move; if it succeeds, and its message may be gone, send that again."""

    move: Move
    what: str
    send: bool = True


@dataclass(frozen=True, slots=True)
class Leave:
    """Look again at the next tick: the slot keeps holding progress back."""

    why: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """The index was behind: the run has moved on."""


def decide(
    run: Record, slot: str, *, now: int, backlogged: bool, claim_token: str, generation: str, deployment: Deployment
) -> Act | Leave | Nothing:
    """`backlogged`: the run's own message may simply still be waiting in its queue."""
    if run.slot != slot:
        return Nothing()
    if run.status is Status.RUNNING:
        return _look_after_attempt(run, now, generation, deployment)
    if backlogged and now - run.fire_at < PATIENCE_MS:
        return Leave("its queue is backlogged")
    if backlogged:
        # Perhaps nobody serves its pool for days: slots that hold progress back would be read at every tick.
        return Act(lifecycle.look_later(run, now, deployment), "waits", send=False)
    if run.resends >= lifecycle.MAX_RESENDS:
        return Act(lifecycle.undeliverable(run, now, deployment), "undeliverable")
    return Act(lifecycle.resend(run, now, claim_token=claim_token, deployment=deployment), "resent")


def _look_after_attempt(run: Record, now: int, generation: str, deployment: Deployment) -> Act:
    if lifecycle.lease_is_over(run, now):
        return Act(lifecycle.lose(run, now, generation=generation, deployment=deployment), "lost")
    return Act(lifecycle.repark(run, now, deployment), "reparked")


def is_backlogged(lateness_ms: int, visible: int, oldest_age_ms: int | None) -> bool:
    """A queue whose oldest message is as old as the run is late may still hold the run's message.

    On AWS the age includes a message's delay, so a resend may come some minutes later than it could; it does come.
    """
    if visible == 0:
        return False
    return oldest_age_ms is None or oldest_age_ms >= lateness_ms
