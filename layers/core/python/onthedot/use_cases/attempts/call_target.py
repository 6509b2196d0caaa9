"""Make the call of one attempt, with payload, signature and time-out, and perform it."""

from typing import Final

from onthedot.domain.errors import PayloadGone, Unavailable
from onthedot.domain.runs.progress import LatestProgress
from onthedot.domain.runs.records import Definition, Record
from onthedot.domain.targets.http_rules import body_of
from onthedot.domain.targets.types import HttpTarget
from onthedot.domain.targets.webhooks import signature_headers
from onthedot.domain.traces import traceparent
from onthedot.ports import Answer, Call, Engine, Performer
from onthedot.stopping import Stop
from onthedot.use_cases.access.signing_keys import keys_of
from onthedot.use_cases.attempts.parents_results import with_parents
from onthedot.use_cases.jobs.payloads import load_payload

_FIRST_PAUSE_MS: Final = 2_000
_LONGEST_PAUSE_MS: Final = 30_000
"""The longest wait before the next attempt when a call could not be made. The wait doubles with each attempt."""


def call_for(
    engine: Engine, run: Record, definition: Definition, stop: Stop, progress: LatestProgress | None = None
) -> Call:
    """Return the call of an attempt.

    Raise Unavailable when the payload, the parents' results or the signing key cannot be read now.
    """
    payload = with_parents(engine, run, load_payload(engine.blobs, definition))
    signature = {}
    if isinstance(definition.target, HttpTarget):
        body = body_of(definition.target.method, payload) or b""
        signature = signature_headers(keys_of(engine, run.tenant), run.run_id, engine.clock.now(), body)
    return Call(
        run_id=run.run_id,
        job_id=run.job_id,
        attempt=run.attempt,
        nominal_at=run.nominal_at,
        definition=definition,
        payload=payload,
        timeout_ms=definition.timeout_seconds * 1000,
        signature=signature,
        stop=stop,
        progress=progress or LatestProgress(),
        started_at=run.started_at or engine.clock.now(),
        traceparent=traceparent(run.run_id, run.trace, run.attempt),
    )


def perform(
    engine: Engine,
    performer: Performer,
    run: Record,
    definition: Definition | None,
    stop: Stop,
    *,
    progress: LatestProgress | None = None,
) -> Answer:
    """Perform the attempt and return its answer. A failure that may pass is an answer too, and raises nothing."""
    if definition is None:
        return Answer(
            ok=False, error="nothing says what this run is to do", error_class="no_definition", retryable=False
        )
    try:
        call = call_for(engine, run, definition, stop, progress)
    except Unavailable as error:
        return not_made(error, run.attempt)
    return performer.perform(call)


def not_made(error: Unavailable, attempt: int) -> Answer:
    """Return the answer for a call that could not be made, because a service of onthedot itself fails.

    The run is handed back and tried again later, for as long as the service fails: no outage may end a run. A payload
    that is gone stays gone, so that is a failure of the run.
    """
    if isinstance(error, PayloadGone):
        return Answer(ok=False, error=str(error), error_class="unavailable")
    wait = min(_FIRST_PAUSE_MS << min(attempt - 1, 10), _LONGEST_PAUSE_MS)
    return Answer(ok=False, error=str(error), error_class="unavailable", handed_back=True, retry_after_ms=wait)
