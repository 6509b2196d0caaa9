"""The listing index: the partitions that list a tenant's jobs, and the filters of a list.

Recurring jobs and event jobs are listed apart from one-off jobs, so that a few schedules among millions of one-off jobs
are found at once. The index shows the facts of a job that no run changes. So filters by facts read only the index.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from onthedot.core import json_text
from onthedot.core.choices import Priority
from onthedot.core.records import STAMPING, Definition, Kind, Record
from onthedot.core.slots import shard_of

ONE_OFF_PARTITIONS: Final = 8
"""Partitions of one-off jobs for each tenant, so that no tenant is limited to the 1,000 writes/s of one."""
STAMPING_PARTITIONS: Final = 2
"""Partitions of recurring and event jobs for each tenant. They are made far less often than one-off jobs."""
LONGEST_LABEL: Final = 300
"""Most characters of a label. A longer one would make each write of the job dearer."""


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


def facts_of(job: Record) -> JobFacts:
    definition = job.definition
    is_workflow = makes_graph(job.run_id, job.workflow)
    if definition is None:
        return JobFacts(job.kind, job.priority, job.workflow, is_workflow=is_workflow)
    return JobFacts(job.kind, job.priority, job.workflow, definition.name, definition.tags, is_workflow)


def makes_graph(job_id: str, workflow: str | None) -> bool:
    return workflow == job_id


@dataclass(frozen=True, slots=True)
class FactFilter:
    """A filter by facts. A field that is None lets all jobs pass."""

    kind: Kind | None = None
    priority: Priority | None = None
    workflow: str | None = None
    is_workflow: bool | None = None
    name: str | None = None
    """The beginning of the name."""
    full_name: str | None = None
    tag: str | None = None
    """The key of a tag, or `key=value`."""

    def passes(self, facts: JobFacts) -> bool:
        return (
            self.kind in (None, facts.kind)
            and self.priority in (None, facts.priority)
            and self.workflow in (None, facts.workflow)
            and self.is_workflow in (None, facts.is_workflow)
            and (self.name is None or (facts.name or "").startswith(self.name))
            and self.full_name in (None, facts.name)
            and (self.tag is None or _has_tag(facts.tags, self.tag))
        )

    @property
    def is_empty(self) -> bool:
        """Whether it lets all jobs of their partitions pass."""
        return self in (FactFilter(), FactFilter(kind=Kind.ONE_OFF))


def _has_tag(tags: Mapping[str, str], wanted: str) -> bool:
    # A key may have a `=` itself.
    return wanted in tags or any(wanted == f"{key}={value}" for key, value in tags.items())


def label_of(definition: Definition) -> str | None:
    """Return the name and the tags as the index shows them. None: they are too long, and readers read the job."""
    whole = {"name": definition.name, "tags": dict(definition.tags)}
    label = json_text.to_text({name: value for name, value in whole.items() if value})
    return label if len(label) <= LONGEST_LABEL else None


def read_label(label: str) -> tuple[str | None, dict[str, str]]:
    """Return the name and the tags in a label. Raise ValueError, TypeError or AttributeError when it is none."""
    content = json.loads(label)
    return content.get("name"), {str(key): str(value) for key, value in content.get("tags", {}).items()}


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
