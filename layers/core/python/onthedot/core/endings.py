"""The fields that a record gets when it ends."""

from typing import Any, Final

from onthedot.core.listing import failed_under
from onthedot.core.records import TERMINAL, Record, Status
from onthedot.core.slots import Deployment, shard_of, watch_slot

TOMBSTONE_DAYS: Final = 14
"""An idempotency key stays taken for this many days after its job has ended."""
LONGEST_WHY: Final = 300
"""Most characters of a reason that repeats another text, such as the reason of a parent."""
_DAY_SECONDS: Final = 86_400
_SPARE_DAYS: Final = 2
"""A job that has ended is kept for so many days longer than a run of it that ends now. One of them covers the longest
attempt (11 hours). On the other, the next start needs no write."""


def cut(why: str) -> str:
    """Return the reason, shortened where it is too long."""
    return why if len(why) <= LONGEST_WHY else f"{why[: LONGEST_WHY - 1]}…"


def tombstone_expiry(now: int) -> int:
    """Return the epoch seconds at which a tombstone that is made now expires."""
    return now // 1000 + TOMBSTONE_DAYS * _DAY_SECONDS


def all_children(run: Record) -> dict[str, Any]:
    """Expect that no child was added since the run was read, so that a move that ends it knows all children."""
    return {"dependents": run.dependents}


def has_graph(run: Record) -> bool:
    """Return whether the run makes the jobs of a workflow, and some of them may exist already."""
    return run.workflow == run.run_id and run.attempt > 0


def must_notify(run: Record) -> bool:
    """Return whether jobs that depend on the run have still to be notified when a client deletes it."""
    if run.notify_pending is not None:
        return True
    if run.status is Status.SUCCEEDED:
        return has_graph(run)
    return (bool(run.children) or has_graph(run)) and run.status not in TERMINAL


def notifying(run: Record, now: int, deployment: Deployment) -> dict[str, Any]:
    """Return the fields that keep an ended run in a watch slot until its children are notified.

    When the process that notifies them crashes, the sweep finds the run there and continues.
    """
    slot = watch_slot(shard_of(run.job_id, deployment.shards), now, now)
    return {"slot": slot, "notify_pending": 1, "expires_at": None}


def closed(now: int, deployment: Deployment) -> dict[str, Any]:
    """Return the fields of every ended record: no slot, its end, and its expiry."""
    return {"slot": None, "finished_at": now, "expires_at": _expiry(now, deployment)}


def completed(now: int, deployment: Deployment) -> dict[str, Any]:
    """Return the fields of a job whose last run is stamped. Its runs read their definition from it."""
    return {**closed(now, deployment), "expires_at": _expiry(now, deployment, _SPARE_DAYS)}


def kept_for_run(job: Record, now: int, deployment: Deployment) -> int | None:
    """Return the later expiry that an ended job needs for a run that starts now. None: its expiry is late enough.

    The run may become a dead letter, and a client can redrive it until it expires. So the job outlives it. The last run
    of a schedule starts minutes after the job has ended, so its start needs no write. A retry, a redrive or a wait of
    days does.
    """
    if job.expires_at is None or job.expires_at >= _expiry(now, deployment, _SPARE_DAYS - 1):
        return None
    return _expiry(now, deployment, _SPARE_DAYS)


def _expiry(now: int, deployment: Deployment, spare_days: int = 0) -> int:
    """Return the epoch seconds at which a record that ends now expires.

    An idempotency key lives 14 days longer than its job, so no record expires earlier.
    """
    days = max(deployment.history_days, TOMBSTONE_DAYS) + spare_days
    return now // 1000 + days * _DAY_SECONDS


def concluded(run: Record, now: int, deployment: Deployment) -> dict[str, Any]:
    """Return the fields of an ended run.

    A run with children keeps a watch slot until they are notified. So does a run that could not make its graph, until
    the jobs of the graph that exist have ended.
    """
    return {**closed(now, deployment), **(notifying(run, now, deployment) if run.children or has_graph(run) else {})}


def dead(run: Record, now: int, why: str, deployment: Deployment) -> dict[str, Any]:
    """Return the fields of a dead letter."""
    ended = {**concluded(run, now, deployment), "lease_until": None, "reason": why}
    return {**ended, "failed_under": failed_under(run.tenant, run.run_id)}
