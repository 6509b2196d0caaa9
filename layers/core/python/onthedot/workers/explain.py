"""Whether the workers of a pull pool can run a run that waits for them, and what they lack."""

from collections.abc import Mapping, Sequence
from typing import Final

from onthedot.core.clock import format_instant
from onthedot.core.pools import Needs
from onthedot.core.reasons import Reason, in_short
from onthedot.core.records import Record, Status
from onthedot.engine import Engine
from onthedot.gates.show import NamedRuns, read_named
from onthedot.workers.records import Resources, WorkerRecord, WorkerStatus

UNABLE: Final = "no_worker"
"""The code of the reason that no live worker can run a run, whether or not it has room."""
NO_ROOM: Final = "no_room"
"""The code of the reason that each live worker that can run a run is full."""
MOST_NAMED: Final = 2
_ENDINGS: Final = {WorkerStatus.LOST: "was lost", WorkerStatus.STOPPED: "stopped"}


def whose_turn(run_id: str, workers: Sequence[WorkerRecord], now: int) -> str | None:
    """Say which worker an assigned run waits for. Return None for a run that is assigned to no worker."""
    worker = next((worker for worker in workers if run_id in worker.assigned), None)
    if worker is None:
        return None
    status = worker.status(now)
    coming = (
        "which gets it with its next lease" if status is WorkerStatus.ACTIVE else f"which is {status}; others follow"
    )
    return f"assigned to worker {worker.worker_id}, {coming}"


def why_no_worker(
    pool: str,
    tenant: str,
    needs: Needs,
    workers: Sequence[WorkerRecord],
    now: int,
    *,
    alone: bool = False,
    say_ago: bool = False,
) -> Reason | None:
    """Say what the live workers of the pool lack. Return None when one of them can run it now.

    `alone`: the run lost a worker before, so its worker must be idle. `say_ago`: say how long ago a worker was lost,
    and not at which instant.
    """
    own = [worker for worker in workers if worker.pool == pool and worker.tenant in (None, tenant)]
    serving = [worker for worker in own if worker.status(now) is WorkerStatus.ACTIVE]
    able = [worker for worker in serving if worker.can_do(needs)]
    if not able:
        others = (worker for worker in workers if worker.pool == pool and worker.tenant not in (None, tenant))
        named = tenant if any(worker.status(now) is WorkerStatus.ACTIVE for worker in others) else None
        gone = _ended([worker for worker in own if worker.can_do(needs)], now, say_ago=say_ago)
        return _unable(pool, named, needs, serving, gone) if serving else _unserved(pool, named, gone)
    if any(worker.free().fits(needs) and not (alone and worker.load.running) for worker in able):
        return None
    return _full(pool, needs, able, alone=alone)


def holds_up(worker: WorkerRecord, queue: str, waiting: int) -> Reason | None:
    """Say that runs wait while a run has a place of a full worker. None: it has a free place, or no run waits."""
    if worker.free().concurrency >= 1 or not waiting:
        return None
    runs = "1 run of all tenants waits" if waiting == 1 else f"{waiting:,} runs of all tenants wait"
    return Reason("worker_full", f"{_places_in_use(worker)}, and {runs} in queue {queue}")


def _nearest(able: Sequence[WorkerRecord], needs: Needs, *, alone: bool) -> WorkerRecord:
    """Return the worker that lacks least: for a run that must be alone, the one with the fewest runs."""
    if alone:
        return min(able, key=lambda worker: len(worker.load.running))
    return min(able, key=lambda worker: len(_short_of(worker.free(), needs)))


def _ended(able: Sequence[WorkerRecord], now: int, *, say_ago: bool) -> tuple[str, str] | None:
    """Return the id of the worker that was alive last, and how it ended. None: each of them is alive."""
    ended = [worker for worker in able if worker.status(now) in _ENDINGS]
    if not ended:
        return None
    last = max(ended, key=lambda worker: worker.heartbeat_at)
    at = last.heartbeat_at
    when = f"{in_short((now - at) / 1000)} ago" if say_ago else f"at {format_instant(at)}"
    return last.worker_id, f"{_ENDINGS[last.status(now)]} {when}"


def _unserved(pool: str, tenant: str | None, gone: tuple[str, str] | None) -> Reason:
    """Say that no worker serves the tenant. It is None when the pool has no live worker at all."""
    alive = (
        f"worker of pool {pool} is alive" if tenant is None else f"live worker of pool {pool} serves tenant {tenant}"
    )
    lost = "" if gone is None else f": worker {gone[0]} {gone[1]}"
    return Reason(UNABLE, f"no {alive}{lost}; start one")


def _unable(
    pool: str, tenant: str | None, needs: Needs, live: Sequence[WorkerRecord], gone: tuple[str, str] | None
) -> Reason:
    """Say what the live workers lack. `tenant` is None when the pool has no live worker of others."""
    nearest = min(live, key=lambda worker: len(_lacking(worker, needs)))
    lacking = f"{nearest.worker_id} lacks {', '.join(_lacking(nearest, needs))}"
    could = "" if gone is None else f"; worker {gone[0]} could, and {gone[1]}"
    if len(live) == 1:
        serving = "" if tenant is None else f" that serves tenant {tenant}"
        said = f"the only live worker of pool {pool}{serving} cannot run it: {lacking}"
    else:
        serving = "" if tenant is None else f" that serve tenant {tenant}"
        said = f"none of the {len(live)} live workers of pool {pool}{serving} can run it; worker {lacking}"
    return Reason(UNABLE, f"{said}{could}")


def _full(pool: str, needs: Needs, able: Sequence[WorkerRecord], *, alone: bool) -> Reason:
    only = f"the only live worker of pool {pool} that can run it"
    none = f"none of the {len(able)} live workers of pool {pool} that can run it"
    nearest = _nearest(able, needs, alone=alone)
    if alone:
        busy = f"{only} is not idle now" if len(able) == 1 else f"{none} is idle now"
        why = "it must run alone, because it lost a worker"
        number = len(nearest.load.running)
        has = f"worker {nearest.worker_id} has {'1 run' if number == 1 else f'{number} runs'}"
        return Reason(NO_ROOM, f"{busy}; {why}; {has}")
    full = f"{only} has no room now" if len(able) == 1 else f"{none} has room now"
    return Reason(NO_ROOM, f"{full}; {'; '.join(_why_full(nearest, needs))}")


def _why_full(worker: WorkerRecord, needs: Needs) -> list[str]:
    places = [_places_in_use(worker)] if worker.free().concurrency < 1 else []
    short = _resources_short(worker.free(), needs)
    who = "it" if places else f"worker {worker.worker_id}"
    return [*places, *([f"{who} has too little {', '.join(short)} free"] if short else [])]


def _places_in_use(worker: WorkerRecord) -> str:
    number = worker.resources.concurrency
    of_worker = f"of worker {worker.worker_id}"
    return f"the only place {of_worker} is in use" if number == 1 else f"all {number} places {of_worker} are in use"


def _lacking(worker: WorkerRecord, needs: Needs) -> list[str]:
    capabilities = [f"capability {capability!r}" for capability in sorted(needs.capabilities - worker.capabilities)]
    return [*capabilities, *_short_of(worker.resources, needs)]


def _short_of(resources: Resources, needs: Needs) -> list[str]:
    short = [] if resources.concurrency >= 1 else ["concurrency (0 of 1)"]
    return short + _resources_short(resources, needs)


def _resources_short(resources: Resources, needs: Needs) -> list[str]:
    pairs = {name: (getattr(resources, name), getattr(needs, name)) for name in ("cpu", "memory_mb", "storage_mb")}
    return [f"{name} ({has:.10g} of {needed:.10g})" for name, (has, needed) in pairs.items() if has < needed]


MOST_READ: Final = 10


def with_holders(
    engine: Engine,
    tenant: str,
    full: Mapping[Reason, tuple[Record, Needs]],
    workers: Sequence[WorkerRecord],
    now: int,
) -> Mapping[Reason, Reason]:
    """Return reasons that workers are full with the runs because of which the worker that each names is full.

    `full` has a run of each reason, and its needs. Runs of other tenants are not named. Raise Unavailable.
    """
    nearest = {}
    for why, (run, needs) in full.items():
        own = [worker for worker in workers if worker.pool == run.pool and worker.tenant in (None, run.tenant)]
        able = [worker for worker in own if worker.status(now) is WorkerStatus.ACTIVE and worker.can_do(needs)]
        if able:
            nearest[why] = _nearest(able, needs, alone=run.losses > 0)
    if not nearest:
        return {}
    named = read_named(engine, [run_id for worker in nearest.values() for run_id in worker.load.running[:MOST_READ]])
    return {
        why: Reason(why.code, "; ".join([why.message, *_holders(worker, named, tenant)]))
        for why, worker in nearest.items()
    }


def _holders(worker: WorkerRecord, named: NamedRuns, tenant: str) -> list[str]:
    found = [named.runs[run_id] for run_id in worker.load.running[:MOST_READ] if run_id in named.runs]
    # The record is as old as the last heartbeat: a run that it names may have ended since.
    running = [run for run in found if run.status is Status.RUNNING and run.worker == worker.worker_id]
    own = sorted((run for run in running if run.tenant == tenant), key=_since)[:MOST_NAMED]
    if not own:
        return ["it has runs of other tenants"] if running else []
    said = (f"{named.name(run.run_id) or run.job_id} runs there since {format_instant(_since(run))}" for run in own)
    return [", ".join(said)]


def _since(run: Record) -> int:
    return run.started_at or run.due_at
