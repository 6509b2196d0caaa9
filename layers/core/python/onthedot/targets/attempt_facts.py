"""The facts about an attempt that performers of several families send to their targets."""

from collections.abc import Mapping

from onthedot.domain.instants import format_instant
from onthedot.ports import Call


def attempt_facts(call: Call) -> Mapping[str, str]:
    """Return the attempt's ids and times as text for headers and environments.

    The idempotency key is the same for every attempt of a run.
    """
    facts = {
        "job": call.job_id,
        "run": call.run_id,
        "attempt": str(call.attempt),
        "fire_time": format_instant(call.nominal_at),
        "idempotency_key": call.run_id,
    }
    return {**facts, "traceparent": call.traceparent} if call.traceparent else facts
