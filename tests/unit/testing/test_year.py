"""A month of 500 mixed schedules: each fire time that a second reader finds has one recorded run."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from croniter import croniter  # type: ignore[import-untyped]

from benchmarks.year import HANDLER, MIX, SCHEDULES, schedules, submit
from onthedot.testing.kit import kit

START = datetime(2026, 3, 10, 0, 0, 30, tzinfo=UTC)
DAYS = 31
END = START + timedelta(days=DAYS)


def expected(options: dict[str, Any]) -> list[datetime]:
    """Return the fire times of a schedule in the month, by croniter for cron."""
    if "delay" in options:
        return [START + timedelta(seconds=options["delay"])]
    if "every" in options:
        count = int((END - START) / options["every"])
        return [START + options["every"] * number for number in range(1, count + 1)]
    zone = ZoneInfo(options["timezone"])
    times = croniter(options["cron"], START.astimezone(zone), ret_type=datetime)
    found = []
    while (time := times.get_next().astimezone(UTC)) <= END:
        found.append(time)
    return found


def test_every_expected_fire_of_a_month_has_one_run_that_succeeded() -> None:
    mixed = [options for _, options in schedules(500, DAYS)]
    with kit(START) as opened:
        kinds = submit(opened, 500, DAYS)
        opened.clock.advance_to(END)
        handled = Counter((call.payload["n"], call.at) for call in opened.handled)
        runs = opened.runs(HANDLER)
    assert set(kinds) == {kind.name for kind in MIX}
    wanted = Counter((number, time) for number, options in enumerate(mixed) for time in expected(options))
    assert sum(wanted.values()) > 1_000
    assert handled == wanted
    assert Counter(run.status for run in runs) == {"SUCCEEDED": sum(wanted.values())}
    assert Counter(run.fire_time for run in runs) == Counter(time for _, time in wanted)
    assert {run.lateness_ms for run in runs} == {0}


def test_the_mix_is_ten_thousand_schedules() -> None:
    assert sum(kind.share for kind in MIX) == SCHEDULES
    assert 85_000 < sum(kind.share * kind.yearly for kind in MIX) < 95_000
