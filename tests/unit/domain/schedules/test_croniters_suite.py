"""The expressions of croniter's own tests, which it brings with it: accepted, and with the fire times of croniter.

Where both differ, `DISPUTED` says why.
"""

import ast
from datetime import UTC, datetime
from pathlib import Path

import croniter as package  # type: ignore[import-untyped]
import pytest
from croniter import croniter

from onthedot.schedules.cron import parse_cron
from onthedot.schedules.errors import BadCron
from onthedot.schedules.schedule import CronSchedule, Schedule, fires_between
from tests.unit.domain.schedules.oracle import ms

FIRES = 12
NEVER = "never comes; croniter accepts it and finds no date"
BOTH_DAYS = "either of the two day fields may match; croniter wants both when there is a #"
STAR = "* beside others is all values, and the others mean nothing"
OVER = "a step goes on over the end; croniter begins anew"
DISPUTED = {
    "* * * * *,0": STAR,
    "0 0 * * *,sat#3": STAR,
    "* * 31 2 *": NEVER,
    "0 0 30 2 *": NEVER,
    "0 0 31 2 *": NEVER,
    "0 0 31 4 *": NEVER,
    "0 0 31 6 *": NEVER,
    "0 0 * * Sun-Sun": "a range of one; croniter takes all days",
    "0 0 * * Thu-Tue/2": OVER,
    "0 0 1 Apr-Mar/2 *": OVER,
    "0 0 * 1 0-6,sat#3": BOTH_DAYS,
    "0 0 1 1 0-6,sat#3": BOTH_DAYS,
    "0 0 31 1 1#1": BOTH_DAYS,
    "30 6 1-7 MAY MON#1": BOTH_DAYS,
    "30 23 1-7 JAN MON-FRI#1": "several weekdays with one number; refused with the weekdays one by one",
    "0 16 */2 * sat": "both must match, because one starts with *, as in Vixie cron",
    "0 9 30W * *": "a month without the day has none; croniter takes its last weekday",
    "0 9 31W * *": "a month without the day has none; croniter takes its last weekday",
    "R R * * *": "a random value would change with each reading",
    "R R R(10-20) * *": "a random value would change with each reading",
}
STARTS = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 2, 27, 13, 5, tzinfo=UTC)]


def _expressions() -> list[str]:
    texts = {
        node.value
        for file in (Path(package.__file__).parent / "tests").glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    fives = [text for text in texts if len(text.split()) == 5 and any(letter in "*?0123456789" for letter in text)]
    return sorted(text for text in fives if croniter.is_valid(text))


def theirs(expression: str, start: datetime) -> list[int] | None:
    found = croniter(expression, start)
    try:
        return [round(found.get_next(float)) * 1000 for _ in range(FIRES)]
    except package.CroniterBadDateError:
        return None


def ours(expression: str, start: datetime) -> list[int] | None:
    try:
        return fires_between(Schedule(CronSchedule(expression)), ms(start), 10**15, FIRES)
    except BadCron:
        return None


def test_the_expressions_of_croniters_tests_fire_as_croniter_says() -> None:
    expressions = _expressions()
    assert len(expressions) > 120
    differing = {text for text in expressions if any(ours(text, start) != theirs(text, start) for start in STARTS)}
    # Expressions that never fire are the same to both here: croniter finds no date, and they are refused.
    assert differing | {text for text in DISPUTED if DISPUTED[text] is NEVER} == set(DISPUTED)


@pytest.mark.parametrize("expression", [text for text, why in DISPUTED.items() if why in (NEVER, STAR)])
def test_an_expression_that_means_nothing_is_refused(expression: str) -> None:
    with pytest.raises(BadCron):
        parse_cron(expression)
