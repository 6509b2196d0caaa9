"""Count the ends of runs among changes of one shard of the stream: each once, also when a batch is delivered again."""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Clock, Deadline
from onthedot.events.ports import RecordChange
from onthedot.statistics.counters import PlacedEnd, end_of
from onthedot.statistics.store import StatisticsWriter

_LOG: Final = logging.getLogger(__name__)
WRITERS: Final = 8
"""Writes side by side, for a batch with many tenants."""


@dataclass(frozen=True, slots=True)
class CountResult:
    ended: int
    """Ends in the batch, also if they were counted before."""
    items: int
    faulty: int
    """Changes and items that could not be counted, and never will."""
    unwritten: int
    """Items whose counters cannot be written now. The batch must be delivered again."""


def count_changes(
    writer: StatisticsWriter, shard: str, changes: Sequence[RecordChange], clock: Clock, deadline: Deadline
) -> CountResult:
    """Count the ends among these changes, which are in the order of the shard. One fault stops no other count."""
    groups, faulty = _groups(changes)

    def write(ends: Sequence[PlacedEnd]) -> str:
        return _write(writer, shard, ends) if deadline.allows(clock.now()) else "late"

    with ThreadPoolExecutor(WRITERS) as writers:
        outcomes = list(writers.map(write, groups.values()))
    return CountResult(
        sum(len(ends) for ends in groups.values()),
        len(groups),
        faulty + outcomes.count("faulty"),
        outcomes.count("late"),
    )


def _groups(changes: Sequence[RecordChange]) -> tuple[Mapping[tuple[str, int], list[PlacedEnd]], int]:
    """Return the ends of each tenant and minute, and the number of changes that cannot be counted."""
    groups: dict[tuple[str, int], list[PlacedEnd]] = {}
    faulty = 0
    for change in changes:
        try:
            ended = end_of(change.old, change.new, change.at)
            if ended is not None:
                groups.setdefault((ended.tenant, ended.minute), []).append(PlacedEnd(int(change.position), ended))
        except Exception as error:  # noqa: BLE001 (a change that no version foresaw must stop no other)
            faulty += 1
            _LOG.error("uncounted", extra={"position": change.position, "why": repr(error)})
    return groups, faulty


def _write(writer: StatisticsWriter, shard: str, ends: Sequence[PlacedEnd]) -> str:
    about = {"tenant": ends[0].ended.tenant, "minute": ends[0].ended.minute}
    try:
        writer.add(shard, ends)
    except Unavailable as error:
        _LOG.warning("not_counted", extra={**about, "why": str(error)})
        return "late"
    except Exception as error:  # noqa: BLE001 (an item that can never be written must not stop its shard for hours)
        _LOG.error("uncounted", extra={**about, "why": repr(error)})
        return "faulty"
    return "written"
