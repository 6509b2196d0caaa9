"""The partitions of the dead-letter index. No other module computes them.

Each tenant has several, so that a tenant whose runs all fail at once is not limited to the 1,000 writes/s of one.
"""

from dataclasses import dataclass
from typing import Final

from onthedot.core.slots import shard_of

PARTITIONS: Final = 8
"""Partitions of the dead-letter index for each tenant."""
END_OF_TIME: Final = 10**15
"""An instant after all that the calendar can write down."""


@dataclass(frozen=True, slots=True)
class Window:
    """The times of ends from `since` to before `until`."""

    since: int = 0
    until: int = END_OF_TIME

    @property
    def is_empty(self) -> bool:
        """Whether no time is in it."""
        return self.since >= self.until


ALWAYS: Final = Window()


def failed_under(tenant: str, run_id: str) -> str:
    """Return the partition that shows this run of the tenant when it has failed."""
    return f"{tenant}#{shard_of(run_id, PARTITIONS)}"


def dead_letter_partitions(tenant: str) -> list[str]:
    """Return all partitions of the tenant's dead letters, the one of earlier versions first.

    Another tenant's name may be the name of a partition, so a reader compares the tenant of each run.
    """
    return [tenant, *(f"{tenant}#{number}" for number in range(PARTITIONS))]
