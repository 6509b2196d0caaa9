"""A second, slow opinion on cron: walks through UTC minute by minute and asks zoneinfo what clocks show.

It shares no code with `onthedot.domain`: fields are read by the plainest rules (correct expressions only), a day is
matched by looking at the calendar, and a change of the clocks is noticed by its effect on local time.
"""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MONTHS = ["", *["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
RANGES = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]


def ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def number(text: str) -> int:
    if text in MONTHS:
        return MONTHS.index(text)
    return WEEKDAYS.index(text) if text in WEEKDAYS else int(text)


def expand(text: str, low: int, high: int) -> set[int]:
    """The numbers of a field without `L` and `#`."""
    found: set[int] = set()
    for item in text.split(","):
        span, _, step = item.partition("/")
        first, _, last = span.partition("-")
        begin = low if span == "*" else number(first)
        end = high if span == "*" else number(last or first)
        end = 7 if last == "SUN" and begin > 0 else end
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


@dataclass(frozen=True)
class Matcher:
    """An expression as questions to the calendar."""

    fields: tuple[str, ...]

    @property
    def every_hour(self) -> bool:
        return len(expand(self.fields[1], 0, 23)) == 24

    def day(self, day: date) -> bool:
        if day.month not in expand(self.fields[3], 1, 12):
            return False
        by_number = any(self._number(item, day) for item in self.fields[2].split(","))
        by_weekday = any(self._weekday(item, day) for item in self.fields[4].split(","))
        if self.fields[2][0] == "*" or self.fields[4][0] == "*":
            return by_number and by_weekday
        return by_number or by_weekday

    def times(self) -> set[tuple[int, int]]:
        return {(h, m) for h in expand(self.fields[1], 0, 23) for m in expand(self.fields[0], 0, 59)}

    def _number(self, item: str, day: date) -> bool:
        if item == "L":
            return (day + timedelta(days=1)).day == 1
        return day.day in expand(item, 1, 31)

    def _weekday(self, item: str, day: date) -> bool:
        weekday = day.isoweekday() % 7
        if "#" in item:
            name, nth = item.split("#")
            column = [week[day.weekday()] for week in calendar.monthcalendar(day.year, day.month)]
            dates = [number_ for number_ in column if number_]
            return number(name) % 7 == weekday and dates.index(day.day) + 1 == int(nth)
        if item.endswith("L"):
            return number(item[:-1]) % 7 == weekday and (day + timedelta(days=7)).month != day.month
        return weekday in {value % 7 for value in expand(item, 0, 6)}


@lru_cache(maxsize=256)
def clock(zone: str, start: datetime, days: int) -> list[tuple[int, datetime, bool]]:
    """What clocks show at every UTC minute: the instant, the naive local time, whether it was shown before."""
    moments = (start + n * MINUTE for n in range(days * 1440 + 1))
    locals_ = [(ms(moment), moment.astimezone(ZoneInfo(zone))) for moment in moments]
    return [(at, local.replace(tzinfo=None, fold=0), local.fold == 1) for at, local in locals_]


def fires(expression: str, zone: str, policy: tuple[str, str], start: datetime, days: int) -> list[int]:
    """All fires in `start < t <= start + days`, each once, in order."""
    matcher, (gap, overlap) = Matcher(tuple(expression.upper().split())), policy
    times, day_matches = matcher.times(), lru_cache(maxsize=None)(matcher.day)

    def hit(local: datetime) -> bool:
        return (local.hour, local.minute) in times and day_matches(local.date())

    def here(before: datetime, local: datetime, is_second: bool) -> bool:
        if hit(local) and (not is_second or matcher.every_hour or overlap == "twice"):
            return True
        return gap == "run_after" and not matcher.every_hour and any(map(hit, jumped(before, local)))

    shown = clock(zone, start, days)
    return [at for (_, before, _), (at, local, again) in pairwise(shown) if here(before, local, again)]


def jumped(before: datetime, local: datetime) -> Iterator[datetime]:
    """The local minutes that clocks did not show between these two."""
    missing = before + MINUTE
    while missing < local:
        yield missing
        missing += MINUTE


def first_day(expression: str, after: date, days: int) -> date | None:
    """The first matching day after this one, by asking about each."""
    matcher = Matcher(tuple(expression.upper().split()))
    return next((day for n in range(1, days + 1) if matcher.day(day := after + timedelta(days=n))), None)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
