"""Whether a run is still scheduled, and another pool for runs whose own pool the stage no longer has."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.engine import Core
from onthedot.core.errors import InvalidRequest, Problem, Unavailable
from onthedot.core.ids import is_scheduled, is_stamped, job_id_of, nominal_of
from onthedot.core.lifecycle import CHANGED_WHY, PAUSED_WHY
from onthedot.core.moves import Move
from onthedot.core.outcomes import is_written
from onthedot.core.pools import Pool, needs_of
from onthedot.core.ports import Deadline, ReadRecords, SlotEntry, Undecided
from onthedot.core.records import Definition, Record, Status
from onthedot.core.set_aside import UNHANDLED, fault_of
from onthedot.core.slots import DECISION_MS, Deployment
from onthedot.core.start_window import has_expired
from onthedot.schedules.schedule import contains

GONE_WHY = "its job is gone: deleted, or expired"
_STOPPED = {Status.PAUSED: PAUSED_WHY, Status.DELETED: "job deleted", Status.CANCELLED: "job cancelled"}


def why_not_scheduled(job: Record | None, run_id: str) -> str | None:
    """Return the reason for skipping the run, or None if it is still scheduled.

    Workers ask just before the start, so cancel, pause and change have an effect until the last moment.
    """
    if job is None:
        return GONE_WHY
    if job.status in _STOPPED:
        return _STOPPED[job.status]
    if job.recurrence is None or not is_scheduled(run_id):
        return None
    return None if contains(job.recurrence.schedule, nominal_of(run_id)) else CHANGED_WHY


_LOG: Final = logging.getLogger(__name__)
READ_AT_ONCE: Final = 100
_ADVICE: Final = {
    "requirements.capabilities": "start a worker that can (--capability, --shell, --app, --aws), or leave it out",
    "requirements.cpu": "ask for less, or add a larger pool to the stage",
    "requirements.memory_mb": "ask for less, or add a larger pool to the stage",
    "requirements.storage_mb": "ask for less, or add a larger pool to the stage",
    "timeout_seconds": "give less, or add a pool to the stage that allows more",
}


@dataclass(frozen=True, slots=True)
class NoPool:
    why: str
    for_ever: bool = False


@dataclass(slots=True)
class Rerouted:
    entries: list[SlotEntry] = field(default_factory=list)
    """The entries that have another pool now, and can be claimed."""
    waiting: int = 0
    """The number of runs that no pool can run. They wait in later slots, or ended because their job is gone."""
    left: int = 0
    faults: dict[str, str] = field(default_factory=dict)


def has_pool(engine: Core, run: Record | SlotEntry) -> bool:
    return engine.deployment.pools.get(run.pool) is not None


def smallest_pool(engine: Core, tenant: str, definition: Definition) -> str:
    """Return the name of the smallest pool that meets the job's needs.

    Live workers are read only when no pool promises enough by itself. Raise InvalidRequest, which names the need that
    no pool meets, or Unavailable.
    """
    needs = needs_of(definition.target, definition.requirements, definition.timeout_seconds)
    pools = engine.deployment.pools
    chosen = pools.choose(needs)
    if isinstance(chosen, Pool):
        return chosen.name
    promised = frozenset[str]().union(*(pool.capabilities for pool in pools.all))
    if not needs.capabilities <= promised:
        chosen = pools.choose(needs, engine.points.offered(engine, tenant))
        if isinstance(chosen, Pool):
            return chosen.name
    raise InvalidRequest(*(Problem(lack.field, f"{lack.message}; {_ADVICE[lack.field]}") for lack in chosen))


def find_pool(engine: Core, pool: str, tenant: str, definition: Definition | None) -> str | NoPool:
    """Return the pool that can run the work of a pool that is gone. Without a job there is no definition."""
    if definition is None:
        return NoPool(GONE_WHY, for_ever=True)
    try:
        return smallest_pool(engine, tenant, definition)
    except InvalidRequest as error:
        return NoPool(f"pool {pool} is gone, and no other pool can run it: {error}")


def reroute_entries(engine: Core, entries: Sequence[SlotEntry], deadline: Deadline) -> Rerouted:
    """Give each PENDING run another pool, or move it to a later slot with the reason. Raise Unavailable."""
    result = Rerouted()
    for start in range(0, len(entries), READ_AT_ONCE):
        if not deadline.allows(engine.clock.now()):
            result.left += len(entries) - start
            return result
        _reroute(engine, entries[start : start + READ_AT_ONCE], deadline, result)
    return result


def _reroute(engine: Core, entries: Sequence[SlotEntry], deadline: Deadline, result: Rerouted) -> None:
    read = engine.store.get_many([entry.run_id for entry in entries], deadline)
    result.faults |= {run_id: one.why for run_id, one in read.unreadable.items()}
    result.left += len(read.unread)
    found_runs = [r for entry in entries if (r := read.found.get(entry.run_id)) is not None and r.slot == entry.slot]
    job_ids = {job_id_of(run.run_id) for run in found_runs if run.definition is None and is_stamped(run.run_id)}
    jobs = engine.store.get_many(sorted(job_ids), deadline) if job_ids else ReadRecords({})
    pools = _find_pools(engine, found_runs, jobs, result)
    runs = [run for run in found_runs if run.run_id in pools]
    now = engine.clock.now()
    moves = [_move(run, pools[run.run_id], now, engine.deployment) for run in runs]
    outcomes = engine.store.move_many(moves, deadline.at_most(now + DECISION_MS)) if moves else []
    found = {entry.run_id: entry for entry in entries}
    for run, move, outcome in zip(runs, moves, outcomes, strict=True):
        pool = pools[run.run_id]
        if isinstance(pool, str) and is_written(outcome, lambda current: current.pool == move.changes["pool"]):  # noqa: B023
            result.entries.append(replace(found[run.run_id], pool=pool))
        elif (why := fault_of(outcome, move)) is not None:
            result.faults[run.run_id] = why
        elif isinstance(outcome, Undecided):
            result.left += 1
        elif isinstance(pool, NoPool):
            result.waiting += 1


def _find_pools(engine: Core, runs: Sequence[Record], jobs: ReadRecords, result: Rerouted) -> dict[str, str | NoPool]:
    """Return the pool of each run for which one can be looked up. Note the other runs in the result.

    When the registry of workers fails, the remaining runs are left too: its timeouts would use up the time of the tick.
    """
    pools: dict[str, str | NoPool] = {}
    for number, run in enumerate(runs):
        if run.job_id in jobs.unread:
            result.left += 1
            continue
        try:
            pools[run.run_id] = _pool_of(engine, run, jobs)
        except Unavailable as error:
            _LOG.warning("pool_unknown", extra={"run": run.run_id, "error": str(error)})
            result.left += len(runs) - number
            break
        except Exception as error:  # noqa: BLE001 - whatever is wrong with this run, the others must go on
            result.faults[run.run_id] = f"{UNHANDLED}{type(error).__name__}: {error}"
    return pools


def _pool_of(engine: Core, run: Record, jobs: ReadRecords) -> str | NoPool:
    if run.job_id in jobs.unreadable:
        return NoPool(f"pool {run.pool} is gone, and its job cannot be read: {jobs.unreadable[run.job_id].why}")
    with_definition = jobs.found.get(run.job_id, run)
    return find_pool(engine, run.pool, run.tenant, with_definition.definition)


def end_without_job(run: Record, now: int, deployment: Deployment) -> Move:
    """End a run whose job is gone. A redriven run becomes a dead letter again, so that its failure is not forgotten."""
    if lifecycle.is_redriven(run) and run.status is Status.DISPATCHED:
        return lifecycle.fail_again(run, now, GONE_WHY, deployment)
    return lifecycle.skip_missed(run, now, GONE_WHY, deployment)


def _move(run: Record, pool: str | NoPool, now: int, deployment: Deployment) -> Move:
    if isinstance(pool, NoPool) and pool.for_ever:
        return end_without_job(run, now, deployment)
    if isinstance(pool, NoPool) and has_expired(run, now):
        return lifecycle.skip_expired(run, now, deployment)
    if isinstance(pool, NoPool):
        return lifecycle.wait_for_pool(run, now, pool.why, deployment)
    return lifecycle.change_pool(run, pool)
