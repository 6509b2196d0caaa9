"""The store of statistics: counters of ended runs for each tenant, minute and priority."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from onthedot.domain.statistics.ends import EndedRun
from onthedot.domain.statistics.steps import MinuteCounters


class StatisticsStore(Protocol):
    """The counters as calls of the API read them."""

    def read(self, tenant: str, first: int, end: int) -> Sequence[MinuteCounters]:
        """Return the counters of a tenant from the minute `first` to the minute before `end`, in no special order.

        Minutes without an end are left out.
        """
        ...


@dataclass(frozen=True, slots=True)
class PlacedEnd:
    """An end, and its place in one shard of a stream of changes."""

    position: int
    """It grows within the shard."""
    ended: EndedRun


class StatisticsWriter(Protocol):
    """The counters as the consumer of a stream writes them. An engine that counts in its own commits has none."""

    def add(self, shard: str, ends: Sequence[PlacedEnd]) -> None:
        """Count these ends of one tenant and one minute, in the order of the stream. Raise Unavailable.

        Ends of this shard that were counted before are not counted again.
        """
        ...


class NoStatistics:
    """A `StatisticsStore` of an engine that counts nothing, such as one of a test."""

    def read(self, tenant: str, first: int, end: int) -> Sequence[MinuteCounters]:  # noqa: ARG002
        return []
