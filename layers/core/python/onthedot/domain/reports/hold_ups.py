"""Say why due runs of a tenant do not start now, in sentences. They speak of runs of this tenant only."""

from dataclasses import dataclass
from typing import Final

from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.names import TENANT, GateId, name_of
from onthedot.domain.reports.durations import in_short
from onthedot.domain.reports.explain import STAGE_CLOSED, Reason
from onthedot.domain.reports.explain_gates import nothing_starts, use_of_limits
from onthedot.domain.runs.records import Record
from onthedot.domain.transfer.stage_state import StageState

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
    gate: str | None = None
    pool: str | None = None
    runs: int | None = None
    job_id: str | None = None
    name: str | None = None


def in_closed_stage(state: StageState) -> list[HoldUp]:
    """Return the hold-up of a stage that is frozen or imports data, in which nothing starts. An open one has none."""
    return [] if state.is_open else [HoldUp(STAGE_CLOSED, f"nothing starts: {state.why_closed}", state.since)]


def at_gate(  # noqa: PLR0917 - the facts of a gate
    gate: GateId, limits: GateLimits, in_use: int, runs: int, more: bool = False, since: int | None = None
) -> HoldUp:
    """Return the hold-up at a gate, or at the limits of the tenant."""
    waiting = _number(runs, more=more)
    if limits.is_stopped:
        message, code = f"{nothing_starts(gate, limits)}; {waiting}", "stopped"
    else:
        use = use_of_limits(limits, in_use) or "they go on soon"
        message, code = f"{waiting} at {name_of(gate)}: {use}", "full"
    named = None if gate.name == TENANT else gate.name
    return HoldUp(f"{'limit' if named is None else 'gate'}_{code}", message, since, named, None, runs)


def at_keys(gate: str, key: str) -> HoldUp:
    """Return the hold-up at the keys of a gate, of which one is known."""
    return HoldUp("gate_full", f"runs wait at keys of gate {gate}, such as {gate}:{key}", gate=gate)


def at_workers(run: Record, name: str | None, why: Reason, runs: int) -> HoldUp:
    """Return the hold-up of runs that no live worker of their pool can run now. `run` is the oldest of them."""
    message = why.message.replace("run it", f"run {name or run.job_id}", 1)
    if message == why.message:  # it names no run
        message = f"{_number(runs)}: {message}"
    return HoldUp(why.code, message, run.fire_at, None, run.pool, runs, run.job_id, name)


def in_queue(  # noqa: PLR0917 - the facts of a queue
    pool: str, priority: str | None, runs: int, age_ms: int | None, now: int, more: bool = False
) -> HoldUp | None:
    """Return the hold-up of a queue in which runs of the tenant have waited for long.

    `runs` is the number of these, and `age_ms` says for how long the oldest of them has waited.
    """
    if not runs or age_ms is None or age_ms <= OLD_MS:
        return None
    queue = pool if priority is None else f"{pool}, priority {priority}"
    message = f"{_number(runs, more=more)} in the queue of pool {queue}, the oldest for {in_short(age_ms / 1000)}"
    return HoldUp("queue_old", f"{message}: the workers do not keep up", now - age_ms, pool=pool, runs=runs)


def _number(runs: int, *, more: bool = False) -> str:
    if more:
        return f"more than {runs:,} runs wait"
    return "1 run waits" if runs == 1 else f"{runs:,} runs wait"
