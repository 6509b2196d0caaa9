"""Judge by the last ticks whether the scheduler is alive."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from onthedot.domain.reports.durations import in_short

LATE_AFTER_MS: Final = 3 * 60_000
"""A tick comes each minute. After this time without one, runs that were not sent ahead are late."""


class TickStatus(StrEnum):
    """Whether ticks come in time."""

    OK = "ok"
    STARTING = "starting"
    """There was no tick yet, and the first one is not late."""
    LATE = "late"


@dataclass(frozen=True, slots=True)
class TickReport:
    """The state of the ticks of all shards. The shard with the oldest tick counts."""

    status: TickStatus
    last_tick: int | None
    """The oldest of the shards' last completed ticks. None: no shard has had one.

    When ticks are late, it may be one of a process before this one.
    """
    age_ms: int | None
    never: int = 0
    """Number of shards that should have had a tick by now and had none."""
    waited_ms: int | None = None
    """How long ago the scheduler started, if no shard has had a tick since then and the first one is late."""

    @property
    def sentence(self) -> str:
        """Say that the ticks are late."""
        if self.waited_ms is not None:
            started = f"{in_short(self.waited_ms / 1000)} ago"
            return f"no tick has ended since the scheduler started {started}; due runs wait"
        if self.age_ms is None:
            return "the scheduler itself is late: no tick is known"
        never = f"; {'1 shard' if self.never == 1 else f'{self.never} shards'} had none" if self.never else ""
        return f"the scheduler itself is late: the last tick ended {in_short(self.age_ms / 1000)} ago{never}"


def judge_ticks(ticked: Mapping[int, int], born: Mapping[int, int], now: int, earlier: int | None = None) -> TickReport:
    """Return the state of the ticks.

    `ticked` is the last tick of each shard that had one, `born` the time since which each shard is in use. A shard
    that no writer has used cannot be late. `earlier` is the last tick before the start of the process that does all
    ticks. It does not count, and is shown when there is no other.
    """
    new = [since for shard, since in born.items() if shard not in ticked]
    never = sum(now - since > LATE_AFTER_MS for since in new)
    last = min(ticked.values(), default=None)
    age = None if last is None else max(0, now - last)
    if last is None and never:
        ago = None if earlier is None else max(0, now - earlier)
        return TickReport(TickStatus.LATE, earlier, ago, never, now - min(new))
    if never or (age is not None and age > LATE_AFTER_MS):
        return TickReport(TickStatus.LATE, last, age, never)
    return TickReport(TickStatus.STARTING if last is None else TickStatus.OK, last, age)
