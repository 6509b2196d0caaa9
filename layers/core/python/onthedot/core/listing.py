"""The listing index: the partitions that list a tenant's jobs, and the filters of a list.

Recurring jobs and event jobs are listed apart from one-off jobs, so that a few schedules among millions of one-off jobs
are found at once. The index shows the facts of a job that no run changes. So filters by facts read only the index.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.records import STAMPING, Kind
from onthedot.core.slots import shard_of

ONE_OFF_PARTITIONS: Final = 8
"""Partitions of one-off jobs for each tenant, so that no tenant is limited to the 1,000 writes/s of one."""
STAMPING_PARTITIONS: Final = 2
"""Partitions of recurring and event jobs for each tenant. They are made far less often than one-off jobs."""


def listed_under(tenant: str, job_id: str, kind: Kind = Kind.ONE_OFF) -> str:
    if kind in STAMPING:
        return f"{tenant}#r{shard_of(job_id, STAMPING_PARTITIONS)}"
    return f"{tenant}#{shard_of(job_id, ONE_OFF_PARTITIONS)}"


def listing_partitions(tenant: str, kind: Kind | None = None) -> list[str]:
    """Return the partitions that have the tenant's jobs of this kind, or of all kinds.

    An earlier version listed all kinds under the partitions of one-off jobs, until a change moves such a job.
    """
    one_off = [f"{tenant}#{number}" for number in range(ONE_OFF_PARTITIONS)]
    stamping = [f"{tenant}#r{number}" for number in range(STAMPING_PARTITIONS)]
    if kind is None:
        return [*stamping, *one_off]
    return stamping if kind in STAMPING else one_off


@dataclass(frozen=True, slots=True)
class JobFacts:
    kind: Kind
    priority: Priority
    workflow: str | None = None
    name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    is_workflow: bool = False


def makes_graph(job_id: str, workflow: str | None) -> bool:
    return workflow == job_id


PARTITIONS: Final = 8
END_OF_TIME: Final = 10**15
"""An instant after all that the calendar can write down."""


@dataclass(frozen=True, slots=True)
class Window:
    since: int = 0
    until: int = END_OF_TIME

    @property
    def is_empty(self) -> bool:
        return self.since >= self.until


ALWAYS: Final = Window()


def failed_under(tenant: str, run_id: str) -> str:
    return f"{tenant}#{shard_of(run_id, PARTITIONS)}"


def dead_letter_partitions(tenant: str) -> list[str]:
    """Return all partitions of the tenant's dead letters, the one of earlier versions first.

    Another tenant's name may be the name of a partition, so a reader compares the tenant of each run.
    """
    return [tenant, *(f"{tenant}#{number}" for number in range(PARTITIONS))]
