"""The fields that a record gets when it ends."""

from typing import Any, Final

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs.records import TERMINAL, Record, Status
from onthedot.domain.runs.slots import shard_of, watch_slot

TOMBSTONE_DAYS: Final = 14


def all_children(run: Record) -> dict[str, Any]:
    """Nobody ends a run without knowing all that wait for it: a child that came meanwhile refuses the move."""
    return {"dependents": run.dependents}


def has_graph(run: Record) -> bool:
    """Whether it makes the jobs of a workflow, and some of them may be there."""
    return run.workflow == run.run_id and run.attempt > 0


def must_notify(run: Record) -> bool:
    if run.notify_pending is not None:
        return True
    if run.status is Status.SUCCEEDED:
        return has_graph(run)
    return (bool(run.children) or has_graph(run)) and run.status not in TERMINAL


def notifying(run: Record, now: int, deployment: Deployment) -> dict[str, Any]:
    """It stands in a watch slot until its children know that it has ended, so that a crash strands nobody."""
    slot = watch_slot(shard_of(run.job_id, deployment.shards), now, now)
    return {"slot": slot, "notify_pending": 1, "expires_at": None}


def closed(now: int, deployment: Deployment) -> dict[str, Any]:
    """What every ended record has. A key lives 14 days after its job, so no record goes earlier."""
    days = max(deployment.history_days, TOMBSTONE_DAYS)
    return {"slot": None, "finished_at": now, "expires_at": now // 1000 + days * 86_400}


def concluded(run: Record, now: int, deployment: Deployment) -> dict[str, Any]:
    """What an ended run has: as every record; one that others wait for is looked after until they know.

    And so is one that could not make its graph, until those of its jobs that exist have ended.
    """
    return {**closed(now, deployment), **(notifying(run, now, deployment) if run.children or has_graph(run) else {})}


def dead(run: Record, now: int, why: str, deployment: Deployment) -> dict[str, Any]:
    return {**concluded(run, now, deployment), "lease_until": None, "reason": why, "failed_under": run.tenant}
