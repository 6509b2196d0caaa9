"""Show gates, their limits and their use."""

from collections.abc import Sequence

from onthedot.api.gates.views import GateDetailsView, GatesView, GateView, LimitsView, UseView
from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.instants import format_instant
from onthedot.use_cases.gates.show_gates import GateDetails, GateUse, ShownGate


def limits_view(limits: GateLimits) -> LimitsView:
    return {
        "in_flight": limits.in_flight,
        "per_second": limits.per_second,
        "burst": limits.burst,
        "paused": limits.paused,
        "changed_at": format_instant(limits.put_at) if limits.put_at else None,
        "changed_by": limits.put_by,
    }


def use_view(use: GateUse | None, now: int) -> UseView:
    """Return the use of limits. None: it cannot be read."""
    if use is None:
        return {"in_use": None, "waiting": None, "waiting_is_more": None, "oldest_waiting_seconds": None}
    return {
        "in_use": use.in_use,
        "waiting": use.waiting.number,
        "waiting_is_more": use.waiting.is_more,
        "oldest_waiting_seconds": None if use.oldest_at is None else max(0, now - use.oldest_at) / 1000,
    }


def gate_view(gate: ShownGate, now: int) -> GateView:
    return {"name": gate.named, **limits_view(gate.limits), **use_view(gate.use, now)}


def gates_view(gates: Sequence[ShownGate], next_cursor: str | None, now: int) -> GatesView:
    return {"gates": [gate_view(gate, now) for gate in gates], "next_cursor": next_cursor}


def gate_details_view(details: GateDetails, now: int) -> GateDetailsView:
    """Return a gate with its holders and the keys at which runs wait."""
    return {
        **gate_view(details.gate, now),
        "holders": [
            {
                "execution_id": holder.run_id,
                "job_id": holder.job_id,
                "name": holder.name,
                "since": format_instant(holder.since),
                "worker_id": holder.worker,
            }
            for holder in details.holders
        ],
        "first_waiting": [
            {
                "execution_id": run.run_id,
                "job_id": run.job_id,
                "name": run.name,
                "fire_time": format_instant(run.fire_at),
            }
            for run in details.waiting
        ],
        "waiting_keys": details.waiting_keys.number,
        "waiting_keys_is_more": details.waiting_keys.is_more,
        "first_waiting_keys": list(details.first_keys),
    }
