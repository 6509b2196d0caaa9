"""Random cron expressions, random zones, and the weeks in which clocks or calendars do something odd."""

from datetime import UTC, datetime

from hypothesis import strategies as st

from onthedot.schedules.choices import DstPolicy, Gap, Overlap
from onthedot.schedules.schedule import CronSchedule, EverySchedule, Schedule
from tests.unit.domain.schedules.oracle import MONTHS, WEEKDAYS, utc

CHANGES = [
    ("UTC", "2038-01-18"),
    ("UTC", "2100-02-27"),
    ("Europe/Berlin", "2026-03-28"),
    ("Europe/Berlin", "2026-10-24"),
    ("Europe/Berlin", "2038-03-27"),
    ("Europe/Berlin", "2100-10-30"),
    ("Europe/Dublin", "2026-03-28"),
    ("America/New_York", "2026-03-07"),
    ("America/New_York", "2038-11-06"),
    ("America/New_York", "2100-03-13"),
    ("America/St_Johns", "2006-04-01"),  # at 00:01, by an hour
    ("America/St_Johns", "2010-11-06"),
    ("America/St_Johns", "1988-04-02"),  # by two hours
    ("America/Sao_Paulo", "2018-11-03"),  # at midnight
    ("America/Sao_Paulo", "2018-02-17"),
    ("America/Havana", "2026-03-07"),  # at midnight
    ("Asia/Beirut", "2026-03-28"),  # at midnight
    ("Asia/Beirut", "2026-10-24"),
    ("Africa/Cairo", "2026-04-23"),
    ("Africa/Casablanca", "2026-02-14"),  # Ramadan
    ("Africa/Casablanca", "2026-03-21"),
    ("Africa/Casablanca", "2012-07-19"),
    ("Australia/Lord_Howe", "2026-04-04"),  # by half an hour
    ("Australia/Lord_Howe", "2026-10-03"),
    ("Australia/Lord_Howe", "2100-04-03"),
    ("Antarctica/Troll", "2026-03-28"),  # by two hours
    ("Antarctica/Troll", "2026-10-24"),
    ("Antarctica/Casey", "2018-03-10"),  # back by three hours
    ("Antarctica/Vostok", "1994-01-31"),  # back by seven hours
    ("Pacific/Apia", "2011-12-29"),  # a whole day
    ("Pacific/Kwajalein", "1993-08-20"),
    ("Pacific/Kiritimati", "1994-12-30"),
    ("Asia/Kathmandu", "1985-12-31"),  # by a quarter of an hour
    ("Asia/Pyongyang", "2018-05-03"),
    ("Asia/Gaza", "2040-10-12"),
    ("America/Caracas", "2007-12-08"),
]
"""A zone, and the UTC day before one of its changes (or of another trap)."""

ZONES = sorted({zone for zone, _ in CHANGES})
MIDNIGHTS = st.datetimes(datetime(1975, 1, 1), datetime(2150, 1, 1)).map(  # noqa: DTZ001 - given a zone below
    lambda moment: moment.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=UTC)
)
changes = st.sampled_from(CHANGES).map(lambda change: (change[0], utc(change[1])))
windows = changes | st.tuples(st.sampled_from(ZONES), MIDNIGHTS)


@st.composite
def spans(draw: st.DrawFn, low: int, high: int, over: bool = False) -> str:
    """Ranges, some with a step. With `over` some go over the end."""
    first = draw(st.integers(low, high))
    last = draw(st.integers(low if over else first, high))
    length = (last - first) % (high - low + 1)
    if length and draw(st.booleans()):
        return f"{first}-{last}/{draw(st.integers(1, length))}"
    return f"{first}-{last}"


def lists(low: int, high: int, *more: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    items = st.one_of(st.integers(low, high).map(str), spans(low, high), *more)
    return st.lists(items, min_size=1, max_size=3).map(",".join)


def starred(low: int, high: int) -> st.SearchStrategy[str]:
    return st.just("*") | st.integers(1, high - low).map("*/{}".format)


def starts(low: int, high: int) -> st.SearchStrategy[str]:
    return st.builds("{}/{}".format, st.integers(low, high), st.integers(1, high - low))


def wide(low: int, high: int) -> st.SearchStrategy[str]:
    """Fields with `a/n` and with ranges over the end."""
    return lists(low, high, starts(low, high), spans(low, high, over=True))


minutes = starred(0, 59) | lists(0, 59)
hours = starred(0, 23) | lists(0, 23) | lists(0, 3)
dates = st.just("*") | starred(1, 31) | lists(1, 31, st.just("L")) | st.sampled_from(["29", "31", "L", "1,L"])
months = (
    st.just("*") | starred(1, 12) | lists(1, 12, st.sampled_from(MONTHS[1:])) | st.sampled_from(["2", "feb", "JAN-MAR"])
)
_weekday = st.integers(0, 7).map(str) | st.sampled_from(WEEKDAYS)
_nth = st.builds("{}#{}".format, _weekday, st.integers(1, 5))
_last = _weekday.map("{}L".format)
weekdays = (
    st.just("*")
    | starred(0, 6)
    | lists(0, 7, st.sampled_from(WEEKDAYS), st.sampled_from(["MON-FRI", "fri-sun", "SAT-SUN"]), _nth, _last)
    | _nth
)
_from_end = st.integers(1, 30).map("L-{}".format) | st.sampled_from(["L", "LW", "25-L", "1-L/8"])
_nearest = st.integers(1, 31).map("{}W".format)
new_dates = st.just("?") | wide(1, 31) | lists(1, 31, _from_end, _nearest) | _from_end | _nearest
new_weekdays = st.just("?") | wide(0, 6) | lists(0, 6, st.sampled_from(["FRI-MON", "sat-tue/2", "WED/2"]), _nth)
classic = st.builds("{} {} {} {} {}".format, minutes, hours, dates, months, weekdays)
expressions = classic | st.builds(
    "{} {} {} {} {}".format,
    minutes | wide(0, 59),
    hours | wide(0, 23),
    dates | new_dates,
    months | wide(1, 12) | st.just("NOV-FEB"),
    weekdays | new_weekdays,
)
daily = st.builds("{} {} * * *".format, minutes | wide(0, 59), hours | wide(0, 23))
policies = st.tuples(st.sampled_from(["run_after", "skip"]), st.sampled_from(["once", "twice"]))

instants = st.integers(0, 4 * 10**12)
crons = st.builds(
    CronSchedule,
    st.sampled_from(["* * * * *", "*/7 * * * *", "30 2 * * *", "0 0 L * *", "15 1,2,3 * * MON-FRI"]),
    st.sampled_from(ZONES),
    st.builds(DstPolicy, st.sampled_from(Gap), st.sampled_from(Overlap)),
)
intervals = st.builds(EverySchedule, st.integers(1, 10**8), instants)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    first, last = sorted(draw(st.tuples(instants, instants)))
    start_at, end_at = draw(st.sampled_from([(None, None), (first, None), (None, last), (first, last)]))
    return Schedule(draw(crons | intervals), start_at, end_at, draw(st.integers(0, 900)))
