"""Say in one or two sentences how the runs of a tenant are."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from onthedot.core.reasons import in_short
from onthedot.statistics.counters import Counters

LATE_MS: Final = 5_000
"""Runs are late when one of a hundred starts later than this after its time."""
FAILING_SHARE: Final = 0.05


class State(StrEnum):
    ON_TIME = "on_time"
    LATE = "late"
    FAILING = "failing"
    HELD_UP = "held_up"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class Summary:
    state: State
    message: str


def summarize(
    late_ticks: str | None, hour: Counters | None, largest_cause: str | None, hold_ups: Sequence[str]
) -> Summary:
    """Return the summary. The most urgent state counts: late ticks, runs held up, failures, then lateness.

    `late_ticks`, `largest_cause` and `hold_ups` are sentences. `hour` is None when the counters cannot be read.
    """
    state = _state(late_ticks, hour, hold_ups)
    sentences = [
        *([_sentence(late_ticks)] if late_ticks else []),
        _runs(hour),
        *([_lateness(hour)] if hour is not None and _is_late(hour) else []),
        *([largest_cause] if largest_cause else []),
        *([_sentence(hold_ups[0])] if hold_ups else []),
        *([f"And {len(hold_ups) - 1:,} more."] if len(hold_ups) > 1 else []),
    ]
    return Summary(state, " ".join(sentences))


def _state(late_ticks: str | None, hour: Counters | None, hold_ups: Sequence[str]) -> State:
    if late_ticks:
        return State.LATE
    if hold_ups:
        return State.HELD_UP
    if hour is None:
        return State.ON_TIME
    if hour.failed and hour.failed >= FAILING_SHARE * (hour.succeeded + hour.failed):
        return State.FAILING
    if _is_late(hour):
        return State.LATE
    return State.ON_TIME if hour.succeeded else State.IDLE


def _is_late(hour: Counters) -> bool:
    return (hour.percentile(0.99) or 0) > LATE_MS


def _runs(hour: Counters | None) -> str:
    if hour is None:
        return "The runs of the last hour cannot be counted now."
    if not hour.ended:
        return "No run ended in the last hour."
    numbers = {"failed": hour.failed, "skipped": hour.skipped, "cancelled": hour.cancelled}
    others = [f"{number:,} {outcome}" for outcome, number in numbers.items() if number]
    runs = "1 run" if hour.ended == 1 else f"{hour.ended:,} runs"
    return f"{', '.join([f'{runs} in the last hour', *others])}."


def _lateness(hour: Counters) -> str:
    late = in_short((hour.percentile(0.99) or 0) / 1000)
    return f"1 in 100 started {late} late or more."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
