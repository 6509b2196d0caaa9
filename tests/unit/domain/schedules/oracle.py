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
    """The numbers of a field without `L`, `W` and `#`."""
    found: set[int] = set()
    for item in text.replace("?", "*").split(","):
        span, _, step = item.partition("/")
        first, _, last = span.partition("-")
        begin = low if span == "*" else number(first)
        end = high if span == "*" or (step and not last) else number(last or first)
        found |= set(around(begin, end, low, high)[:: int(step or 1)])
    return found


def around(begin: int, end: int, low: int, high: int) -> list[int]:
    """The numbers from one to another, over the end of the field if need be."""
    if begin > end:
        return [*range(begin, high + 1), *range(low, end + 1)]
    return list(range(begin, end + 1))


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
        if self.fields[2][0] in "*?" or self.fields[4][0] in "*?":
            return by_number and by_weekday
        return by_number or by_weekday

    def times(self) -> set[tuple[int, int]]:
        return {(h, m) for h in expand(self.fields[1], 0, 23) for m in expand(self.fields[0], 0, 59)}

    def _number(self, item: str, day: date) -> bool:
        if item == "LW":
            return day.day == max(working_days(day))
        if item.endswith("W"):
            return self._is_nearest(int(item[:-1]), day)
        if item.startswith("L"):
            return day.day == calendar.monthrange(day.year, day.month)[1] - int(item[2:] or 0)
        return day.day in expand(item.replace("L", "31"), 1, 31)

    def _is_nearest(self, asked: int, day: date) -> bool:
        length = calendar.monthrange(day.year, day.month)[1]
        return asked <= length and day.day == min(working_days(day), key=lambda one: abs(one - asked))

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


def working_days(day: date) -> list[int]:
    """The days from Monday to Friday of the month of this day."""
    return [number for week in calendar.monthcalendar(day.year, day.month) for number in week[:5] if number]


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
