"""Read the counters of a tenant for each step of a range of time."""

from collections.abc import Sequence
from dataclasses import dataclass

from onthedot.domain.runs.records import Priority
from onthedot.domain.statistics.counters import Counters, added
from onthedot.domain.statistics.steps import StepRange, in_steps
from onthedot.ports import Engine


@dataclass(frozen=True, slots=True)
class Statistics:
    """The counters of a range of time."""

    asked: StepRange
    steps: Sequence[tuple[int, Counters]]
    """The beginning and the counters of each step, the oldest first."""
    total: Counters


def read_statistics(engine: Engine, tenant: str, asked: StepRange, priority: Priority | None = None) -> Statistics:
    """Return the counters of a tenant, of one priority or of all. Raise Unavailable."""
    found = engine.statistics.read(tenant, *asked.minutes)
    steps = in_steps((one for one in found if priority in (None, one.priority)), asked)
    return Statistics(asked, steps, added(counters for _, counters in steps))
