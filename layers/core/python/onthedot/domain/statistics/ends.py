"""The rule that says which change of a record is counted as the end of a run."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from onthedot.domain.reports.metrics import lateness_of
from onthedot.domain.runs.records import Kind, Priority, Record, Status
from onthedot.domain.statistics.counters import bucket_name, bucket_of

MINUTE_MS: Final = 60_000
OUTCOME_OF: Final[Mapping[Status, str]] = {
    Status.SUCCEEDED: "succeeded",
    Status.FAILED: "failed",
    Status.SKIPPED: "skipped",
    Status.CANCELLED: "cancelled",
}
"""The counted outcome of each status in which a run has ended."""
ENDED: Final = frozenset(OUTCOME_OF)
RUNS: Final = frozenset({Kind.ONE_OFF, Kind.STAMPED, Kind.SKIPPED_RANGE})
"""The kinds of records that are runs. Recurring jobs and event jobs have runs, and are none."""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """The end of a run, or of several fire times that were skipped together."""

    tenant: str
    minute: int
    """The minute of the end, counted from 1970."""
    priority: Priority
    outcome: str
    number: int = 1
    retries: int = 0
    lost: int = 0
    lateness_ms: int | None = None
    """The lateness of the last attempt. None: the run did not end with an attempt."""


@dataclass(frozen=True, slots=True)
class Before:
    """The facts of a record before a write that decide whether the write ends a run."""

    status: Status
    skipped_count: int | None = None


def end_of(old: Record | None, new: Record | None, at: int) -> EndedRun | None:
    """Return the end that is counted when `new` replaced `old` at about `at`, or None.

    A record that was imported is not counted: its first write here is not its first revision, and the stage that it
    comes from has counted it.
    """
    if new is None or (old is None and new.revision > 1):
        return None
    return end_after(None if old is None else Before(old.status, old.skipped_count), new, at)


def end_after(before: Before | None, new: Record, at: int) -> EndedRun | None:
    """Return the end that a write is counted as, or None.

    A run is counted when its status becomes that of an end. So a run that is redriven and ends again is counted again.
    Later writes of an ended run are not counted, but a skipped range that grows is, by the times that are new.
    """
    outcome = OUTCOME_OF.get(new.status)
    if outcome is None or new.kind not in RUNS:
        return None
    has_ended = before is not None and before.status in ENDED
    number = _size(new.kind, new.skipped_count)
    if before is not None and has_ended:
        number -= _size(new.kind, before.skipped_count)
    if number <= 0:
        return None
    ran = before is not None and before.status is Status.RUNNING
    ended_at = at if has_ended or new.finished_at is None else new.finished_at
    return EndedRun(
        new.tenant,
        ended_at // MINUTE_MS,
        new.priority,
        outcome,
        number,
        # The last attempt of a run that failed was not tried again.
        max(0, new.failures + new.losses - (ran and new.status is Status.FAILED)),
        new.losses,
        lateness_of(new) if ran else None,
    )


def _size(kind: Kind, skipped_count: int | None) -> int:
    """Return the fire times of a record: one, or those of a skipped range."""
    return 1 if kind is not Kind.SKIPPED_RANGE or skipped_count is None else skipped_count


def numbers_of(ended: EndedRun) -> dict[str, int]:
    """Return the numbers that an end adds, by the names of stores. Zeros are left out."""
    numbers = {ended.outcome: ended.number, "retries": ended.retries, "lost": ended.lost}
    if ended.lateness_ms is not None:
        numbers[bucket_name(bucket_of(ended.lateness_ms))] = 1
    return {name: number for name, number in numbers.items() if number}


def summed(ends: Iterable[EndedRun]) -> tuple[dict[str, int], int | None]:
    """Return the numbers that these ends add together, and their largest lateness."""
    numbers: Counter[str] = Counter()
    most: int | None = None
    for ended in ends:
        numbers.update(numbers_of(ended))
        if ended.lateness_ms is not None:
            most = max(most or 0, ended.lateness_ms)
    return dict(numbers), most
