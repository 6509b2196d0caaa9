"""Calls of targets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from onthedot.domain.runs.records import Definition
from onthedot.stopping import Stop


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt as the target sees it."""

    run_id: str
    job_id: str
    attempt: int
    nominal_at: int
    definition: Definition
    payload: bytes
    timeout_ms: int
    signature: Mapping[str, str] = field(default_factory=dict)
    """Headers that sign the payload, for those who receive it over HTTP."""
    stop: Stop = field(default_factory=Stop)


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call: `ok`, or an error in people's words and whether trying again can help."""

    ok: bool
    result: str | None = None
    """JSON or other text, whole up to `RESULT_BYTES`."""
    error: str | None = None
    error_class: str | None = None
    """What kind of error, as a short stable word."""
    retryable: bool = True
    retry_after_ms: int | None = None
    lost: bool = False
    """The process that ran it died of it: counted as a lost worker, not as a failure."""
    handed_back: bool = False
    """The worker had to end before the target did: counted as nothing, and tried again at once."""


RESULT_BYTES: Final = 1024 * 1024
"""What is longer is cut by the target."""


class Performer(Protocol):
    """Performs one attempt. Never raises for what the other side does; never outlasts the call's time-out.

    When the call is asked to stop it ends soon, whatever the other side does.
    """

    def perform(self, call: Call) -> Answer: ...
