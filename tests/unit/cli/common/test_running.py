"""What people read about a run that goes on."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from onthedot.cli.common.durations import briefly
from onthedot.cli.common.running import progress_in_words

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
IN_12_MINUTES = (NOW + timedelta(minutes=12)).isoformat()
AGO = (NOW - timedelta(seconds=90)).isoformat()


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


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 ms"),
        (0.088, "88 ms"),
        (1.24, "1.2 s"),
        (59.9, "59.9 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7_200, "2 h"),
        (2e5, "2 d"),
    ],
)
def test_a_brief_duration(seconds: float, words: str) -> None:
    assert briefly(seconds) == words
