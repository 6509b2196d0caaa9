"""The observer of a process: it gets the counts and values that become metrics."""

from typing import Protocol

from onthedot.domain.runs.records import Priority

Where = tuple[str, Priority]
"""The pool and the priority of a run."""


class Observer(Protocol):
    """A collector of metrics. Safe to use from several threads. It never fails and never waits."""

    def add(self, name: str, number: int = 1, where: Where | None = None) -> None:
        """Add to a count. A count that stays 0 is no metric."""
        ...

    def observe(self, name: str, value: int, where: Where | None = None) -> None:
        """Note one value of a metric whose values matter one by one, 0 included."""
        ...
