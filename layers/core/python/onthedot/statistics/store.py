"""Counters of ended runs: an item for each tenant and minute, with numbers for each priority.

An end is counted once. Where a stream tells the ends, an item also has, for each shard of the stream, the position of
the last change that is counted in it. Changes of a shard come in order, and sometimes more than once. One that is not
behind the position was counted.
"""

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.items import (
    EXPIRES_AT,
    AnyOf,
    Change,
    Check,
    Item,
    Items,
    Value,
    Values,
    absent,
    below,
    whole,
)
from onthedot.core.ports import Clock, Deadline
from onthedot.core.schema import Key, statistics_key
from onthedot.events.ports import RecordChange
from onthedot.statistics.counters import (
    KEPT_DAYS,
    MAX_MS,
    MINUTE_MS,
    STORED,
    Counters,
    EndedRun,
    MinuteCounters,
    PlacedEnd,
    end_of,
    from_stored,
    numbers_of,
    summed,
)

_LOG: Final = logging.getLogger(__name__)
_TRIES: Final = 6
_POSITION_DIGITS: Final = 40
"""The most digits of a sequence number of a stream. With zeros before it, texts compare as numbers do."""
_KEPT_SECONDS: Final = KEPT_DAYS * 86_400


class StatisticsStore:
    """The counters, as calls of the API read them. A read may lag by some seconds, for half the price."""

    def __init__(self, items: Items) -> None:
        self._items = items

    def read(self, tenant: str, first: int, end: int) -> Sequence[MinuteCounters]:
        """Return the counters of the minutes from `first` to before `end`, in no order. Empty minutes are left out."""
        partition, last = statistics_key(tenant, end - 1)
        span = (statistics_key(tenant, first).sort, last)
        items = whole(self._items.query, partition, span=span, may_lag=True)
        return [found for item in items for found in _counters(item)]


class StatisticsWriter:
    """Counts the ends that a stream tells, with one conditional update for all ends of a tenant and minute."""

    def __init__(self, items: Items) -> None:
        self._items = items

    def add(self, shard: str, ends: Sequence[PlacedEnd]) -> None:
        """Count these ends of one tenant and minute, in the order of the stream, each only once. Raise Unavailable."""
        left, at = list(ends), _position_name(shard)
        known: Values = {}
        for _ in range(_TRIES):
            if not left:
                return
            first = left[0].ended
            sums, most = _counted([one.ended for one in left], known)
            sets: dict[str, Value | None] = {**most, at: _position_text(left[-1].position), EXPIRES_AT: _expiry(first)}
            condition = [absent(at) | below(at, _position_text(left[0].position)), *map(_is_larger, most.items())]
            key = statistics_key(first.tenant, first.minute)
            done, item = self._items.update(key, Change(sets=sets, adds=sums), condition)
            if done:
                return
            # It has counted some of them, or a larger maximum.
            known = {} if item is None else item.values
            seen = int(str(known.get(at, -1)))
            left = [one for one in left if one.position > seen]
        raise Unavailable("statistics: too many writers of one minute")


def counting_of(ended: EndedRun) -> tuple[Key, dict[str, int], dict[str, int], int]:
    """Return the key of the item that counts an end, the numbers to add, the maxima to keep, and the expiry."""
    numbers = {_name(ended.priority, name): number for name, number in numbers_of(ended).items()}
    most = {} if ended.lateness_ms is None else {_name(ended.priority, MAX_MS): ended.lateness_ms}
    return statistics_key(ended.tenant, ended.minute), numbers, most, _expiry(ended)


def _counted(ends: Sequence[EndedRun], known: Values) -> tuple[dict[str, int], dict[str, int]]:
    """Return the numbers to add for ends of one minute, and the maxima that are larger than the known ones."""
    sums: dict[str, int] = {}
    maxima: dict[str, int] = {}
    for priority in sorted({ended.priority for ended in ends}):
        numbers, most = summed(ended for ended in ends if ended.priority is priority)
        sums |= {_name(priority, name): number for name, number in sorted(numbers.items())}
        present = known.get(name := _name(priority, MAX_MS), -1)
        if most is not None and most > (present if isinstance(present, int) else -1):
            maxima[name] = most
    return sums, maxima


def _is_larger(most: tuple[str, int]) -> AnyOf | Check:
    return absent(most[0]) | below(*most)


def _expiry(ended: EndedRun) -> int:
    return ended.minute * MINUTE_MS // 1000 + _KEPT_SECONDS


def _counters(item: Item) -> Iterator[MinuteCounters]:
    try:
        found = [(priority, _of_priority(item, priority)) for priority in Priority]
        minute = int(item.key.sort)
    except (KeyError, ValueError, TypeError) as error:
        # One damaged minute must not hide the others.
        _LOG.error("statistics_unreadable", extra={"item": item.key.sort, "why": repr(error)})
        return
    yield from (MinuteCounters(minute, priority, counters) for priority, counters in found if counters is not None)


def _of_priority(item: Item, priority: Priority) -> Counters | None:
    names = {name: _name(priority, name) for name in (*STORED, MAX_MS)}
    stored = {name: item.number(attribute) for name, attribute in names.items() if attribute in item.values}
    return from_stored(stored) if stored else None


def _name(priority: Priority, name: str) -> str:
    """Return a short name: it adds to the size of the item in each write."""
    return f"{priority.value[0]}_{name}"


def _position_name(shard: str) -> str:
    """Return the name of the position of a shard. A hash is shorter than the id of the shard."""
    return f"at_{hashlib.sha256(shard.encode()).hexdigest()[:8]}"


def _position_text(position: int) -> str:
    return f"{position:0{_POSITION_DIGITS}d}"


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
    """Count the ends among these changes, which are in the order of the shard. One fault does not stop other counts."""
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
        except Exception as error:  # noqa: BLE001 (one bad change must not stop the others)
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
