"""Ends of runs as a stream of changes tells them."""

from dataclasses import dataclass

from onthedot.statistics.counters import EndedRun


@dataclass(frozen=True, slots=True)
class PlacedEnd:
    """An end, and its place in one shard of a stream of changes."""

    position: int
    """It grows within the shard."""
    ended: EndedRun
