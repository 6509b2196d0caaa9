"""The facts of a job that the listing index shows, and the filters of a list by them."""

from collections.abc import Mapping
from dataclasses import dataclass

from onthedot.core.choices import Priority
from onthedot.core.listing import JobFacts, makes_graph
from onthedot.core.records import Kind, Record


def facts_of(job: Record) -> JobFacts:
    definition = job.definition
    is_workflow = makes_graph(job.run_id, job.workflow)
    if definition is None:
        return JobFacts(job.kind, job.priority, job.workflow, is_workflow=is_workflow)
    return JobFacts(job.kind, job.priority, job.workflow, definition.name, definition.tags, is_workflow)


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
