"""What the core asks of the registry of workers: what they offer, and whether one ever began a lost attempt.

The API starts a run for a worker over REST before it answers. If the answer is lost, the worker never knows of the run.
"""

from collections import defaultdict
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.errors import Unavailable
from onthedot.core.lifecycle import LEASE_MS, NEVER_BEGUN
from onthedot.core.records import Record, Status
from onthedot.engine import Engine
from onthedot.workers.records import WorkerRecord, WorkerStatus

LEASE_REPLY_MS: Final = 20_000
"""How long a worker waits for the reply to its lease. A heartbeat after this time names the runs that arrived."""
MOST_IN_A_ROW: Final = 3
"""Attempts of a run that may end so one after the other. The next one counts as lost: perhaps no worker can read it."""


def may_be_never_begun(run: Record) -> bool:
    """Return whether the run alone allows it: its lease was never extended, and it is not to be cancelled."""
    latest = [attempt.error_class for attempt in run.attempts[-MOST_IN_A_ROW:]]
    return (
        run.started_at is not None
        and run.lease_until == run.started_at + LEASE_MS
        and run.cancel_requested is None
        and latest != [NEVER_BEGUN] * MOST_IN_A_ROW
    )


def is_never_begun(run: Record, worker: WorkerRecord | None) -> bool:
    """Return whether the worker lived on without the run. One that registered since may be a new process."""
    if worker is None or run.started_at is None or worker.registered_at > run.started_at:
        return False
    return worker.heartbeat_at > run.started_at + LEASE_REPLY_MS and run.run_id not in worker.load.running


def was_never_begun(engine: Engine, run: Record, now: int) -> bool:
    """Return whether the worker lives and never had the run. Without the registry, the attempt counts as lost."""
    if run.worker is None or not engine.deployment.pools.is_pull(run.pool):
        return False
    if run.status is not Status.RUNNING or not lifecycle.lease_is_over(run, now) or not may_be_never_begun(run):
        return False
    try:
        return is_never_begun(run, engine.registry.find(run.worker))
    except Unavailable:
        return False


def offered(engine: Engine, tenant: str) -> dict[str, frozenset[str]]:
    """Return, by pool, the capabilities of live workers of pull pools, promised by their pools or not."""
    now = engine.clock.now()
    offered: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for worker in engine.registry.workers():
        serves = worker.tenant in (None, tenant) and worker.status(now) is WorkerStatus.ACTIVE
        if serves and engine.deployment.pools.is_pull(worker.pool):
            offered[worker.pool] |= worker.capabilities
    return offered
