"""The moves of a run that was set aside, or whose pool is gone."""

from typing import Final

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs.moves import Expect, Move
from onthedot.domain.runs.records import TERMINAL, Record, Status
from onthedot.domain.runs.slots import BUCKET_MS, WATCH_DISTANCE, fire_slot, shard_of, watch_slot

LONGEST_WAIT_MS: Final = 60 * BUCKET_MS
"""The longest time between two tries to find a pool for a run."""
_IN_FIRE_SLOTS: Final = frozenset({Status.PENDING, Status.ACTIVE})
_IN_NO_SLOT: Final = TERMINAL | {Status.PAUSED}


def put_back(run: Record, now: int, deployment: Deployment) -> Move:
    """Put a record that was set aside into the slot where the next pass reads it, in the shard that it has today.

    A record that has ended or is paused, with no step unfinished, belongs into no slot.
    """
    changes = {"slot": _proper_slot(run, now, deployment), "aside_from": None, "aside_since": None, "aside_why": None}
    return Move(run.run_id, _as_read(run), run.status, changes)


def _proper_slot(run: Record, now: int, deployment: Deployment) -> str | None:
    shard = shard_of(run.job_id, deployment.shards)
    if run.status in _IN_FIRE_SLOTS:
        return fire_slot(shard, run.fire_at, now)
    is_done = run.status in _IN_NO_SLOT and run.notify_pending is None and run.given_up is None
    return None if is_done else watch_slot(shard, now, now)


def change_pool(run: Record, pool: str) -> Move:
    """Give a PENDING run another pool, because the stage no longer has its own. It stays in its slot."""
    why = f"pool {run.pool} is gone, so the run moved to pool {pool}"
    return Move(run.run_id, _as_read(run), run.status, {"pool": pool, "reason": why})


def wait_for_pool(run: Record, now: int, why: str, deployment: Deployment) -> Move:
    """Move a PENDING run to a later fire slot, because no pool of the stage can run it.

    The claim pass tries again after as long as the run has waited so far, at most after an hour.
    """
    wait = min(max(now - run.fire_at, WATCH_DISTANCE * BUCKET_MS), LONGEST_WAIT_MS)
    slot = fire_slot(shard_of(run.job_id, deployment.shards), run.fire_at, now + wait)
    return Move(run.run_id, _as_read(run), run.status, {"slot": slot, "reason": why})


def _as_read(run: Record) -> Expect:
    return Expect(frozenset({run.status}), {"generation": run.generation, "slot": run.slot})
