"""The story of a run in few words: sentences of the API with local times, none of them twice."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from onthedot.cli.common.moments import day_and_clock, read_moment
from onthedot.cli.text import printable

_INSTANT: Final = re.compile(
    r"(?P<before>\b(?:at about|at|since|about) )?(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"
)
_FAILED: Final = re.compile(r"attempt \d+ failed: (?P<why>.*)", re.DOTALL)
_ENDED: Final = re.compile(r"failed: (?P<count>\d+) of \d+ attempts? failed: (?P<why>.*)", re.DOTALL)


def moments_of(timeline: Sequence[Mapping[str, Any]], reasons: Sequence[str]) -> Iterator[tuple[Any, str]]:
    """Yield time and message of each moment. An error is written once, and a reason not again."""
    before = ""
    for one in timeline:
        message = str(one["message"])
        failed, ended = _FAILED.fullmatch(message), _ENDED.fullmatch(message)
        if message in reasons:
            continue
        if failed is not None and failed["why"] == before:
            message = message.removesuffix(f": {before}") + " in the same way"
        elif ended is not None and ended["why"] == before:
            message = "failed for good" if ended["count"] == "1" else f"failed for good after {ended['count']} attempts"
        before = failed["why"] if failed is not None else before
        yield one["time"], message


def clock_of(time: Any, now: datetime | None) -> str:
    """Return the time of a moment: in a terminal the local clock with milliseconds, and the day if it is another."""
    moment = read_moment(time)
    if now is None or moment is None:
        return printable(str(time))
    local = moment.astimezone()
    clock = f"{local:%H:%M:%S}.{local.microsecond // 1000:03d}"
    return clock if local.date() == now.astimezone().date() else f"{local:%a} {local.day} {local:%b} {clock}"


def in_local_times(message: Any, now: datetime | None) -> str:
    """Return a sentence of the API. In a terminal, its times are in words and of the local clock."""
    text = printable(str(message))
    return text if now is None else _INSTANT.sub(lambda found: _local(found, now), text)


def _local(found: re.Match[str], now: datetime) -> str:
    """Return a time with the word before it: "at 09:00" for today, "yesterday at 09:00" for another day."""
    moment = day_and_clock(datetime.fromisoformat(found["time"]), now)
    before = found["before"]
    if before is None:
        return moment
    if before == "since ":
        return before + moment.removeprefix("today ")
    day, _, clock = moment.rpartition(" ")
    return f"{before}{clock}" if day == "today" else f"{day} {before}{clock}"
