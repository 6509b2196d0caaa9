"""The choices that a client makes about a job, besides its schedule, and their bounds.

This module imports nothing heavy, so that the command line can import it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_JOBS: Final = 500
"""Jobs of a workflow."""
MOST_GATES: Final = 3
LONGEST_PULL: Final = 39_600
"""The most seconds of an attempt in a pull pool. SQS hides a message for at most 12 hours."""


class Priority(StrEnum):
    """The priority of a run: which queue of its pool it waits in."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class OnParentFailure(StrEnum):
    FAIL = "fail"
    RUN = "run"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The rule for retries: after failure number n wait `backoff * factor**(n-1)`, at most `max_backoff`.

    With full jitter, unless it is switched off.
    """

    max_retries: int = 3
    backoff_seconds: float = 2.0
    factor: float = 2.0
    max_backoff_seconds: float = 900.0
    jitter: bool = True


@dataclass(frozen=True, slots=True)
class Requirements:
    capabilities: tuple[str, ...] = ()
    cpu: float = 0
    memory_mb: int = 0
    storage_mb: int = 0
