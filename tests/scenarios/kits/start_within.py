"""Jobs whose runs must start within a time, and what must be true of a run that did not."""

from dataclasses import replace
from typing import Any

from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.records import Definition, Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import HttpTarget
from tests.scenarios.kits.simulation import Simulation

WITHIN = 60
WHY = f"not started within {WITHIN} s of its fire time (start_within_seconds)"
JUST_LATE = WITHIN + 0.001


def a_request(delay_s: float = 0, within: int | None = WITHIN, **given: Any) -> JobRequest:
    request = JobRequest(
        definition=Definition(HttpTarget("http://x/"), retry=RetryPolicy(jitter=False)),
        fingerprint="same",
        priority=Priority.MEDIUM,
        pool=DEFAULT_POOL,
        record={"start_within_seconds": within, "gates": given.pop("gates", ())},
    )
    timed: dict[str, Any] = {} if {"recurrence", "pattern"} & given.keys() else {"delay_ms": round(delay_s * 1000)}
    return replace(request, **timed, **given)


def submit_within(simulation: Simulation, delay_s: float = 0, within: int | None = WITHIN, **given: Any) -> Record:
    return submit_job(simulation.world.engine, "acme", a_request(delay_s, within, **given))


def assert_skipped(simulation: Simulation, run: Record, why: str = WHY) -> None:
    """Check that the run never started, ended with the reason, and left no slot or message behind."""
    stored = simulation.stored(run)
    assert (stored.status, stored.reason, stored.attempt) == (Status.SKIPPED, why, 0)
    assert (stored.slot, stored.notify_pending) == (None, None)
    assert stored.finished_at is not None
    assert stored.expires_at is not None
    counts = simulation.world.queues.counts(stored.pool, stored.priority)
    assert (counts.visible, counts.delayed) == (0, 0)
