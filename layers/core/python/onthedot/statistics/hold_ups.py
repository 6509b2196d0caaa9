"""Why due runs of a tenant do not start now: at gates, and after they were sent."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import TENANT, GateId, keys_slot, tenant_gate
from onthedot.core.gate_names import name_of as gate_name
from onthedot.core.pools import Needs, PoolKind
from onthedot.core.reasons import Reason, in_short
from onthedot.core.records import Record, Status
from onthedot.engine import Engine
from onthedot.gates.explained import nothing_starts, use_of_limits
from onthedot.gates.limits import GateLimits
from onthedot.gates.show import GateUse, list_gates, use_of
from onthedot.jobs.explain import STAGE_CLOSED
from onthedot.jobs.find_runs import running_runs
from onthedot.jobs.shown_runs import jobs_of, name_of
from onthedot.transfer.stage_state import StageState
from onthedot.workers.assign import needs_of_definition
from onthedot.workers.explain import NO_ROOM, UNABLE, why_no_worker, with_holders
from onthedot.workers.queues import QueueReport
from onthedot.workers.records import WorkerRecord

OLD_MS: Final = 60_000
"""A queue whose oldest run waits for longer holds up runs."""


@dataclass(frozen=True, slots=True)
class HoldUp:
    """A reason for which due runs do not start now. A field that does not apply is None."""

    code: str
    """One of `stage_closed`, `gate_stopped`, `gate_full`, `limit_stopped`, `limit_full`, `no_worker`, `no_room` and
    `queue_old`.
    """
    message: str
    since: int | None = None
    job_id: str | None = None
    name: str | None = None
    gate: str | None = None
    pool: str | None = None
    runs: int | None = None


def in_closed_stage(state: StageState) -> list[HoldUp]:
    """Return the hold-up of a stage that is frozen or imports data, in which nothing starts. An open one has none."""
    return [] if state.is_open else [HoldUp(STAGE_CLOSED, f"nothing starts: {state.why_closed}", state.since)]


def at_workers(run: Record, name: str | None, why: Reason, runs: int) -> HoldUp:
    """Return the hold-up of runs that no live worker of their pool can run now. `run` is the oldest of them."""
    message = why.message.replace("run it", f"run {name or run.job_id}", 1)
    if message == why.message:  # it names no run
        message = f"{_number(runs)}: {message}"
    return HoldUp(why.code, message, run.due_at, run.job_id, name, pool=run.pool, runs=runs)


def _number(runs: int, *, more: bool = False) -> str:
    if more:
        return f"more than {runs:,} runs wait"
    return "1 run waits" if runs == 1 else f"{runs:,} runs wait"


LOOKED_AT: Final = 100
MOST_SHOWN: Final = 5
PATIENT_MS: Final = 5_000
"""A run that is due for less time may just be on its way to a worker."""


@dataclass(frozen=True, slots=True)
class SentHoldUps:
    """The hold-ups of runs that were sent, the oldest run first."""

    at_workers: Sequence[HoldUp] = ()
    """No worker can run them, or has room for them."""
    in_queues: Sequence[HoldUp] = ()
    """They wait in a queue that has been full for a while."""


def may_hold_up(engine: Engine, queues: Sequence[QueueReport], workers: Sequence[WorkerRecord] | None) -> bool:
    """Return whether sent runs of any tenant seem to wait: in an old queue, or in a pull pool without a worker."""
    return any(_is_old(report) for report in queues) or _has_hidden_runs(engine, queues, workers or ())


def sent_hold_ups(
    engine: Engine, tenant: str, queues: Sequence[QueueReport], workers: Sequence[WorkerRecord] | None
) -> SentHoldUps:
    """Return why sent runs of the tenant do not start. `workers` is None when they are unknown. Raise Unavailable."""
    now = engine.clock.now()
    page = running_runs(engine, tenant, LOOKED_AT, status=Status.DISPATCHED)
    waiting = sorted((run for run in page.items if run.due_at <= now - PATIENT_MS), key=lambda run: run.due_at)
    pulled = [] if workers is None else [run for run in waiting if engine.deployment.pools.is_pull(run.pool)]
    jobs = jobs_of(engine, pulled)
    found: dict[Reason, list[Record]] = {}
    for run in pulled:
        why = _lacking(run, _needs(run, jobs), workers or (), now)
        if why is not None:
            found.setdefault(why, []).append(run)
    explained = {run.run_id for runs in found.values() for run in runs}
    others = [run for run in waiting if run.run_id not in explained]
    shown = list(found.items())[:MOST_SHOWN]
    first = {why: (runs[0], _needs(runs[0], jobs)) for why, runs in shown if why.code == NO_ROOM}
    full = with_holders(engine, tenant, first, workers or (), now)
    return SentHoldUps(
        [at_workers(runs[0], name_of(jobs.get(runs[0].job_id)), full.get(why, why), len(runs)) for why, runs in shown],
        list(_in_queues(others, queues, now, more=page.cursor is not None)),
    )


def _is_old(report: QueueReport) -> bool:
    return report.counts is not None and report.counts.visible > 0 and (report.oldest_age_ms or 0) > OLD_MS


def _has_hidden_runs(engine: Engine, queues: Sequence[QueueReport], workers: Sequence[WorkerRecord]) -> bool:
    """Return whether the queues of a pull pool have more messages than its workers have runs."""
    for pool in engine.deployment.pools.all:
        counts = [report.counts for report in queues if report.pool == pool.name and report.counts is not None]
        running = sum(len(worker.load.running) for worker in workers if worker.pool == pool.name)
        if pool.kind is PoolKind.PULL and sum(count.visible + count.in_flight for count in counts) > running:
            return True
    return False


def _in_queues(runs: Sequence[Record], queues: Sequence[QueueReport], now: int, *, more: bool) -> Iterator[HoldUp]:
    """Yield the old queues in which runs of the tenant wait for long. The oldest of these runs is the first."""
    for report in filter(_is_old, queues):
        own = [run for run in runs if run.pool == report.pool and report.priority in (None, run.priority)]
        # A run that waited at a gate before is younger in its queue than its fire time says.
        age_ms = min(now - own[0].due_at, report.oldest_age_ms or 0) if own else 0
        if age_ms > OLD_MS:
            queue = report.pool if report.priority is None else f"{report.pool}, priority {report.priority.value}"
            waiting = f"{_number(len(own), more=more)} in the queue of pool {queue}"
            message = f"{waiting}, the oldest for {in_short(age_ms / 1000)}: the workers cannot keep up"
            yield HoldUp("queue_old", message, now - age_ms, pool=report.pool, runs=len(own))


def _needs(run: Record, jobs: Mapping[str, Record]) -> Needs:
    """Return what a worker must have for a run. One whose job is gone needs some worker too."""
    job = jobs.get(run.job_id)
    definition = run.definition or (None if job is None else job.definition)
    return Needs(frozenset()) if definition is None else needs_of_definition(definition)


def _lacking(run: Record, needs: Needs, workers: Sequence[WorkerRecord], now: int) -> Reason | None:
    reason = why_no_worker(run.pool, run.tenant, needs, workers, now, alone=run.losses > 0, say_ago=True)
    is_old = run.due_at <= now - OLD_MS  # a full worker takes such a run when it has room: that is usual for a while
    return reason if reason is not None and (reason.code == UNABLE or is_old) else None


MOST_GATES: Final = 100
READERS: Final = 8


def gate_hold_ups(engine: Engine, tenant: str) -> Sequence[HoldUp]:
    """Return the limits of the tenant and its gates at which runs wait. Raise Unavailable."""
    found: list[HoldUp] = []
    limits = engine.limits.find(tenant)
    if limits is not None and not limits.is_empty:
        found += _at(tenant_gate(tenant), limits, use_of(engine, tenant_gate(tenant)))
    gates = list_gates(engine, tenant, MOST_GATES, None).items
    for name, of_gate, use in gates:
        found += _at(GateId(tenant, name), of_gate, use)
    with ThreadPoolExecutor(READERS) as readers:
        named = [GateId(tenant, name) for name, _, _ in gates]
        found += [hold_up for hold_up in readers.map(lambda gate: _at_keys(engine, gate), named) if hold_up is not None]
    return found


def _at(gate: GateId, limits: GateLimits, use: GateUse | None) -> Iterator[HoldUp]:
    """Yield the hold-up at a gate, or at the limits of the tenant."""
    if use is None or not use.waiting.number:
        return
    waiting = _number(use.waiting.number, more=use.waiting.is_more)
    if limits.is_stopped:
        message, code = f"{nothing_starts(gate, limits)}; {waiting}", "stopped"
    else:
        why = use_of_limits(limits, use.in_use) or "they start soon"
        message, code = f"{waiting} at {gate_name(gate)}: {why}", "full"
    named = None if gate.name == TENANT else gate.name
    yield HoldUp(
        f"{'limit' if named is None else 'gate'}_{code}", message, use.oldest_at, gate=named, runs=use.waiting.number
    )


def _at_keys(engine: Engine, gate: GateId) -> HoldUp | None:
    """Return the hold-up at the keys of a gate. One that cannot be read is left out, and `GET /v1/gates` shows it."""
    try:
        first = engine.store.read_slot(keys_slot(gate), limit=1).items
    except Unavailable:
        return None
    if not first:
        return None
    key = GateId.read(first[0].run_id).key or ""
    return HoldUp("gate_full", f"runs wait at keys of gate {gate.name}, such as {gate.name}:{key}", gate=gate.name)
