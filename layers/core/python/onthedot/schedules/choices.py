"""The choices that a client makes about a schedule, and their bounds.

This module imports nothing heavy, so that the command line can import it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MAX_JITTER_SECONDS: Final = 900
DAY_MS: Final = 86_400_000
MAX_AHEAD_MS: Final = 3_653 * DAY_MS
"""Ten years, leap days included."""


class Gap(StrEnum):
    """The rule for a time that clocks jump over."""

    RUN_AFTER = "run_after"
    SKIP = "skip"


class Overlap(StrEnum):
    """The rule for a time that clocks show twice."""

    ONCE = "once"
    TWICE = "twice"


@dataclass(frozen=True, slots=True)
class DstPolicy:
    """The rules for changes of the clocks."""

    gap: Gap = Gap.RUN_AFTER
    overlap: Overlap = Overlap.ONCE


class MisfirePolicy(StrEnum):
    """The rule for fire times that were missed by more than the grace."""

    RUN_LATEST = "run_latest"
    """Run the latest of them and skip the others."""
    RUN_ALL = "run_all"
    """Run all of them."""
    SKIP = "skip"
    """Skip all of them."""


class OverlapPolicy(StrEnum):
    """The rule for a run whose job's previous run has not ended."""

    ALLOW = "allow"
    """Run both side by side."""
    SKIP = "skip"
    """Skip the new run."""
    QUEUE = "queue"
    """Let the new run wait for the end of the previous one."""


@dataclass(frozen=True, slots=True)
class Misfire:
    """The misfire policy and its grace."""

    policy: MisfirePolicy = MisfirePolicy.RUN_LATEST
    grace_seconds: int = 60
