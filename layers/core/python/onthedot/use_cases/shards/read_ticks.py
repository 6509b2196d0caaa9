"""Read when the shards had their last ticks: whether the scheduler is alive."""

import logging
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.reports.health import TickReport, TickStatus, judge_ticks
from onthedot.domain.runs.slots import BUCKET_MS, bucket_of
from onthedot.domain.shard_history import ShardHistory
from onthedot.ports import Engine, KnownTicks

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
    """Announce the number of shards, as the first writer would do."""
    started = ShardHistory().announced(engine.deployment.shards, bucket_of(now))
    return started if engine.shards.replace(ShardHistory(), started) else engine.shards.read()
