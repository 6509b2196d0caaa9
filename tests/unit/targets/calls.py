"""The call that performers get in these tests."""

from collections.abc import Mapping

from onthedot.core.ports import Call
from onthedot.core.records import Definition
from onthedot.core.stopping import Stop
from onthedot.targets.types import Target

NOW = 1_767_225_600_123
"""2026-01-01T00:00:00.123Z."""


def a_call_of(
    target: Target,
    payload: bytes,
    timeout_ms: int = 30_000,
    stop: Stop | None = None,
    signature: Mapping[str, str] | None = None,
) -> Call:
    return Call(
        run_id="run-7",
        job_id="job-3",
        attempt=2,
        nominal_at=NOW,
        definition=Definition(target=target),
        payload=payload,
        timeout_ms=timeout_ms,
        signature=signature or {},
        stop=stop or Stop(),
    )
