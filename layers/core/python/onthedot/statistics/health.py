"""Judge by the last ticks whether the scheduler is alive."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from onthedot.core.errors import Unavailable
from onthedot.core.reasons import in_short
from onthedot.core.shards import ShardHistory
from onthedot.core.slots import BUCKET_MS, bucket_of
from onthedot.engine import Engine, KnownTicks

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
    """The number of shards that should have had a tick and had none."""
    waited_ms: int | None = None
    """How long ago the scheduler started, if no shard has had a tick since then and the first one is late."""

    @property
    def sentence(self) -> str:
        """Say that the ticks are late."""
        if self.waited_ms is not None:
            started = f"{in_short(self.waited_ms / 1000)} ago"
            return f"no tick has ended since the scheduler started {started}; due runs wait"
        if self.age_ms is None:
            return "the scheduler itself is late: no tick is on record"
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


_LOG: Final = logging.getLogger(__name__)
REMEMBERED_MS: Final = 10_000
"""A process reads the ticks at most once in this time, however often it is asked, also if the read fails.

A process that does all ticks itself reads them from its own file, each time that it is asked.
"""


def read_ticks(engine: Engine, *, note_start: bool = False) -> TickReport:
    """Return the state of the ticks. Raise Unavailable when they cannot be read.

    A new stage that no client has used has no time from which its first tick could be late. With `note_start` this call
    notes the present as that time, once in the life of a stage.
    """
    now = engine.clock.now()
    known = engine.known_ticks[-1] if engine.known_ticks else None
    if known is None or engine.ticking_since is not None or not known.at <= now < known.at + REMEMBERED_MS:
        known = _try_to_read(engine, now, note_start=note_start)
        engine.known_ticks[:] = [known]
    if known.failed:
        raise Unavailable("the last ticks cannot be read")
    return judge_ticks(known.ticked, known.born, now, known.earlier)


def late_ticks(engine: Engine) -> str | None:
    """Return a sentence when ticks are late, else None. Raise Unavailable."""
    report = read_ticks(engine)
    return report.sentence if report.status is TickStatus.LATE else None


def _try_to_read(engine: Engine, now: int, *, note_start: bool) -> KnownTicks:
    try:
        return _read(engine, now, note_start=note_start)
    except Exception:  # noqa: BLE001 - whatever is wrong with these items, the caller must get an answer
        _LOG.exception("ticks_unread")
        return KnownTicks(now, {}, {}, failed=True)


def _read(engine: Engine, now: int, *, note_start: bool) -> KnownTicks:
    if engine.ticking_since is not None:
        return _read_own(engine, engine.ticking_since, now)
    history = engine.shards.read()
    if note_start and not history.steps:
        history = _note_start(engine, now)
    shards = range(max(engine.deployment.shards, history.used))
    # The end of the minute: no stage is late within its first three minutes.
    born = {shard: (bucket + 1) * BUCKET_MS for shard in shards if (bucket := history.born(shard)) is not None}
    return KnownTicks(now, engine.tick_times.last_ticks(shards), born)


def _read_own(engine: Engine, since: int, now: int) -> KnownTicks:
    """Read the ticks of this process. Its first one is late when it has not ended some minutes after the start."""
    shards = range(max(engine.deployment.shards, engine.shards.read().used))
    found = engine.tick_times.last_ticks(shards)
    ticked = {shard: at for shard, at in found.items() if at >= since}
    earlier = max((at for at in found.values() if at < since), default=None)
    return KnownTicks(now, ticked, dict.fromkeys(shards, since), earlier=earlier)


def _note_start(engine: Engine, now: int) -> ShardHistory:
    started = ShardHistory().announced(engine.deployment.shards, bucket_of(now))
    return started if engine.shards.replace(ShardHistory(), started) else engine.shards.read()
