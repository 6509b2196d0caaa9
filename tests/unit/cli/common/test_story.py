"""A story tells each thing once, with the times of the local clock, and how far a run is."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from onthedot.cli.jobs.get import in_local_times, moments_of, progress_in_words
from onthedot.cli.times import day_and_clock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
IN_12_MINUTES = (NOW + timedelta(minutes=12)).isoformat()
AGO = (NOW - timedelta(seconds=90)).isoformat()


def moments(*messages: str) -> list[dict[str, str]]:
    return [{"time": "2026-03-01T11:00:00.000Z", "message": message} for message in messages]


def test_an_error_is_told_once() -> None:
    timeline = moments(
        "attempt 1 failed: refused", "attempt 2 failed: refused", "attempt 3 failed: lost", "attempt 4 failed: lost",
        "failed: 4 of 4 attempts failed: lost",
    )  # fmt: skip
    assert [message for _, message in moments_of(timeline, [])] == [
        "attempt 1 failed: refused",
        "attempt 2 failed in the same way",
        "attempt 3 failed: lost",
        "attempt 4 failed in the same way",
        "failed for good after 4 attempts",
    ]


def test_a_reason_is_told_once_and_one_attempt_is_not_counted() -> None:
    timeline = moments("due", "gate a is paused", "attempt 1 failed: x", "failed: 1 of 1 attempt failed: x")
    assert [message for _, message in moments_of(timeline, ["gate a is paused"])] == [
        "due",
        "attempt 1 failed: x",
        "failed for good",
    ]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("failed at 2026-03-01T10:00:00.000Z: x", "failed at 10:00: x"),
        ("failed at 2026-02-28T10:00:00.000Z: x", "failed yesterday at 10:00: x"),
        ("it starts at about 2026-03-01T13:00:05.000Z.", "it starts at about 13:00:05."),
        ("runs since 2026-03-01T10:00:00.000Z by w", "runs since 10:00 by w"),
        ("runs since 2026-02-28T10:00:00.000Z by w", "runs since yesterday 10:00 by w"),
        ("not due until 2026-03-02T10:00:00.000Z", "not due until tomorrow 10:00"),
    ],
)
def test_times_in_a_sentence(message: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onthedot.cli.jobs.get.day_and_clock", partial(day_and_clock, zone=UTC))
    assert in_local_times(message, NOW) == shown
    assert in_local_times(message, None) == message, "a pipe gets exact times"


@pytest.mark.parametrize(
    ("execution", "words"),
    [
        ({"running_ms": None}, ""),
        ({"running_ms": 180_000}, "running for 3 min"),
        (
            {
                "running_ms": 180_000,
                "deadline": IN_12_MINUTES,
                "progress": {"fraction": 0.42, "text": "rows 420 of 1,000"},
            },
            "42 %, rows 420 of 1,000, running for 3 min, deadline in 12 min",
        ),
        ({"running_ms": 5, "progress": {"fraction": None, "text": "\x1b[31m"}}, r"\x1b[31m, running for 5 ms"),
        ({"running_ms": 1_500, "deadline": AGO}, "running for 1.5 s, deadline passed 90 s ago"),
    ],
)
def test_progress(execution: dict[str, Any], words: str) -> None:
    assert progress_in_words(execution, NOW) == words
