"""The calls of targets and their answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from onthedot.domain.runs.progress import LatestProgress
from onthedot.domain.runs.records import Definition
from onthedot.stopping import Stop


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt as a performer gets it."""

    run_id: str
    job_id: str
    attempt: int
    nominal_at: int
    definition: Definition
    payload: bytes
    timeout_ms: int
    signature: Mapping[str, str] = field(default_factory=dict)
    """Headers that sign the payload, for an HTTP target."""
    stop: Stop = field(default_factory=Stop)
    """The signal that asks the attempt to end early."""
    progress: LatestProgress = field(default_factory=LatestProgress)
    """The place for the latest report of the target about its progress."""
    started_at: int = 0
    """When the attempt started. 0: not known."""
    traceparent: str = ""
    """The trace of the run with the span of this attempt, as the W3C header. Empty: not known."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a call."""

    ok: bool
    """Whether the call succeeded."""
    result: str | None = None
    """The answer of the target: JSON or other text, cut after `RESULT_BYTES`."""
    error: str | None = None
    """The error as a sentence for the user."""
    error_class: str | None = None
    """The kind of error as a short stable word."""
    retryable: bool = True
    """Whether another attempt can help."""
    retry_after_ms: int | None = None
    """The shortest wait before the next attempt that the target asks for."""
    lost: bool = False
    """The process that ran the attempt died. This counts as a lost attempt, not as a failure."""
    handed_back: bool = False
    """The worker had to end before the target did, or could not make the call. This counts neither as a failure nor as
    a loss, and the run is tried again after `retry_after_ms`, or at once."""


RESULT_BYTES: Final = 1024 * 1024
"""The longest result. The performer cuts a longer one."""


class Performer(Protocol):
    """Code that calls one type of target.

    It never raises because of the target's behaviour, and never takes longer than the call's time-out. When the call is
    asked to stop, it ends soon, whatever the target does.
    """

    def perform(self, call: Call) -> Answer:
        """Perform one attempt and return its outcome."""
        ...
