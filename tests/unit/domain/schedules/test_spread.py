"""`H`: the id of a job chooses values, always the same ones, spread evenly over many jobs."""

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.schedules.cron import parse_cron
from onthedot.schedules.errors import BadCron
from onthedot.schedules.spread import has_h, plain_expression

JOBS = [f"job_{number:06}" for number in range(3_000)]


def resolved(expression: str, job_id: str = "job_1") -> list[str]:
    return plain_expression(expression, job_id).split()


def numbers(field: str) -> list[int]:
    """The numbers of a resolved field: one, a list, or a range with or without a step."""
    span, _, step = field.partition("/")
    if "-" in span:
        first, last = map(int, span.split("-"))
        return list(range(first, last + 1, int(step or 1)))
    return [int(number) for number in span.split(",")]


@pytest.mark.parametrize(
    ("expression", "plain"),
    [
        ("H * * * *", "42 * * * *"),
        ("H H * * *", "42 6 * * *"),
        ("H/15 * * * *", "12-57/15 * * * *"),
        ("H(0-29)/10 * * * *", "2-22/10 * * * *"),
        ("h(0-29) 9-16/2 * * 1-5", "12 9-16/2 * * 1-5"),
        ("H H 1,15 1-11 *", "42 6 1,15 1-11 *"),
        ("H H H H H", "42 6 13 8 0"),
    ],
)
def test_a_job_has_its_values_also_after_an_update_of_croniter(expression: str, plain: str) -> None:
    assert plain_expression(expression, "job_1") == plain


@pytest.mark.parametrize(
    "expression", ["@hourly", "@monthly", "0 0 * MARCH *", "0 0 * * THU", "0 0 * mar thu", "*/5 * * * *"]
)
def test_other_letters_are_no_h(expression: str) -> None:
    assert not has_h(expression)


@pytest.mark.parametrize("expression", ["@daily", "0 0 * * THU", "cron(0 12 * * ? *)"])
def test_an_expression_without_h_stays_as_it_is(expression: str) -> None:
    assert plain_expression(expression, "job_1") == expression


bounds = [("minute", 0, 59), ("hour", 0, 23), ("day", 1, 28), ("month", 1, 12), ("weekday", 0, 6)]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(range(5)), st.data(), st.text(max_size=20))
def test_an_h_is_in_its_range_and_keeps_its_step(place: int, data: st.DataObject, job_id: str) -> None:
    _, low, high = bounds[place]
    first = data.draw(st.integers(low, high - 1))
    last = data.draw(st.integers(first + 1, high))
    step = data.draw(st.integers(1, last - first))
    fields = ["0", "0", "*", "*", "*"]

    def chosen(item: str) -> list[int]:
        fields[place] = item
        plain = plain_expression(" ".join(fields), job_id)
        parse_cron(plain)
        return numbers(plain.split()[place])

    assert low <= chosen("H")[0] <= high
    assert len(chosen("H")) == 1
    (one,) = chosen(f"H({first}-{last})")
    assert first <= one <= last
    several = chosen(f"H({first}-{last})/{step}")
    assert first <= several[0] < first + step
    assert several == list(range(several[0], last + 1, step))


def test_a_day_is_never_one_that_a_month_lacks() -> None:
    days = {day for job in JOBS for day in numbers(resolved("0 0 H * *", job)[2])}
    assert days == set(range(1, 29))
    assert max(day for job in JOBS for day in numbers(resolved("0 0 H/7 * *", job)[2])) == 28


def test_many_jobs_are_spread_evenly_and_fields_do_not_depend_on_each_other() -> None:
    times = [tuple(resolved("H H * * H", job)) for job in JOBS]
    for place, (_, low, high) in enumerate(bounds):
        if place in (0, 1, 4):
            counts = Counter(time[place] for time in times)
            expected = len(JOBS) / (high - low + 1)
            assert len(counts) == high - low + 1
            assert max(counts.values()) < 1.7 * expected
    # 3,000 jobs at random over 1,440 minutes reach about 1,260 of them.
    assert len({time[:2] for time in times}) > 1_150


REFUSALS = [
    ("H(0-60) * * * *", "minute field: 'H(0-60)' is out of range; give a part of H(0-59)"),
    ("0 0 H(1-31) * *", "day-of-month field: 'H(1-31)' is out of range; give a part of H(1-28)"),
    ("H(5-5) * * * *", "minute field: 'H(5-5)' has no range to choose from; write 5"),
    ("H(29-0)/10 * * * *", "minute field: 'H(29-0)/10' has no range to choose from; write H(0-29)/10"),
    ("H/60 * * * *", "minute field: 'H/60' has a step that does not fit; give 1-59, or write H"),
    ("H/0 * * * *", "has a step that does not fit"),
    ("H(0-9)/10 * * * *", "has a step that does not fit; give 1-9, or write H(0-9)"),
    ("H-30 * * * *", "minute field: 'H-30' cannot be read; write H, H/15, H(0-29) or H(0-29)/10"),
    ("H( * * * *", "cannot be read; write H"),
    ("H * * *", "has 4 fields; give 5"),
    ("H 25 * * *", "hour field: '25' is out of range"),
    ("H * * * * *", "has 6 fields"),
    ("H," * 100_000 + "H * * * *", "characters long; give at most 255"),
    ("H * * * *;", "has the character ';'"),
    ("cron( H 12 * * ? *)", "minute field: 'H' is allowed only with five fields"),
]


@pytest.mark.parametrize(("expression", "advice"), REFUSALS)
def test_a_wrong_h_is_refused_with_advice(expression: str, advice: str) -> None:
    with pytest.raises(BadCron) as refusal:
        plain_expression(expression, "job_1")
    assert advice in str(refusal.value)


def test_several_items_of_a_field_may_be_an_h() -> None:
    first, second = numbers(resolved("H(0-29),H(30-59) * * * *")[0])
    assert first < 30 <= second


def test_croniter_is_loaded_only_for_an_h() -> None:
    program = (
        "import sys; from onthedot.schedules.spread import plain_expression as plain;"
        "plain('*/5 * * * *', ''); assert 'croniter' not in sys.modules;"
        "plain('H * * * *', ''); assert 'croniter' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
