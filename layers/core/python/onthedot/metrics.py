"""The metrics: which counts a move, a record that is stored, a tick or a check adds to.

`docs/operations.md` explains the names. Every path of a run passes a move, so each worker, the API and the dispatcher
count by the same rules.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from onthedot.core.gate_names import QUEUE, gate_of_slot
from onthedot.core.moves import Move
from onthedot.core.ports import Observer
from onthedot.core.records import Record, Status
from onthedot.core.slots import BUCKET_MS

LATENESS: Final = "lateness_ms"
"""Milliseconds from the fire time of an attempt to its start: a value for each start, so their number is the starts."""
SUCCEEDED: Final = "succeeded"
"""1 for each attempt that succeeded, 0 for each that failed or was lost: their average is the share of successes."""
DEAD: Final = "dead"
LOST: Final = "lost"
WORKERS_LOST: Final = "workers_lost"
"""Attempts that were lost, and workers that a pool has less than its minimum at a check."""
SKIP_WORDS: Final = {
    "not started within": "late",
    "overlap:": "overlap",
    "misfire:": "missed",
    "dst:": "dst",
    "its parent": "parent",
    "its workflow": "parent",
    "its schedule had ended": "unscheduled",
    "its job is gone": "unscheduled",
    "the job was": "unscheduled",
    "job ": "unscheduled",
    "paused": "unscheduled",
    "schedule changed": "unscheduled",
}
"""The beginnings of the reasons of skipped runs, and the last word of their metric."""
_OTHER: Final = "other"
_ATTEMPT_ENDS: Final = {"succeeded": 1, "failed": 0, "lost": 0}


def skip_metric(reason: str | None) -> str:
    words = [word for beginning, word in SKIP_WORDS.items() if (reason or "").startswith(beginning)]
    return f"skipped_{words[0] if words else _OTHER}"


def is_start(move: Move) -> bool:
    return move.to is Status.RUNNING and "attempt" in move.increments


def lateness_of(run: Record) -> int:
    return max(0, (run.started_at or run.due_at) - run.due_at)


def outcome_of(move: Move) -> int | None:
    """Return 1 if the move ends an attempt with success, 0 if without, and None for every other move."""
    ended = move.changes.get("attempts")
    return _ATTEMPT_ENDS.get(ended[-1].outcome) if ended else None


def counts_of(move: Move) -> Counter[str]:
    counts: Counter[str] = Counter()
    ended = move.changes.get("attempts")
    if ended and ended[-1].outcome in {"failed", LOST}:
        counts[ended[-1].outcome] += 1
        counts["retried"] += move.to in {Status.PENDING, Status.DISPATCHED}
        counts[WORKERS_LOST] += ended[-1].outcome == LOST
    if move.to is Status.FAILED:
        counts[DEAD] += "failed_under" in move.changes
    if move.to is Status.SKIPPED and "reason" in move.changes:
        counts[skip_metric(move.changes["reason"])] += 1
    if move.to is Status.PENDING and (gate := gate_of_slot(move.changes.get("slot"))) is not None:
        counts["waits_for_queue" if gate.name == QUEUE else "waits_at_gate"] += 1
    return +counts


def counts_of_new(record: Record) -> Counter[str]:
    """Return the counts of a new record: skipped times and jobs of an unmade workflow are stored as ended."""
    if record.failed_under is not None:
        return Counter({DEAD: 1})
    if record.status is not Status.SKIPPED:
        return Counter()
    return Counter({skip_metric(record.reason): record.skipped_count or 1})


SENT: Final = "sent"
"""A value for each tick that was done, 0 included, so their number is the ticks."""
FAULTS: Final = "faults"
"""Steps that failed because a service did, and ticks that were late."""
UNSETTLED: Final = "unsettled"
"""Records, messages and fire times with which the code could not do what it should."""
WAITING_LONG: Final = "waiting_long"
UNDELIVERABLE: Final = "undeliverable"
CHECK_EVERY: Final = 5
_OF_TICKS: Final = ("unsent", "resent", "slot_failed", "gate_failed", "queue_not_flagged", "out_of_time")
_OF_GATES: Final = ("gates_waiting", "woken", "places_freed")
_OLDEST: Final = "gate_oldest_seconds"
_FAULTS: Final = ("slot_failed", "gate_failed", "queue_not_flagged")


def observe_tick(observer: Observer, counts: Counter[str], *, age_ms: int, lookahead: int) -> None:
    """Note a tick that was done. One that is older than the lookahead sends its runs late."""
    if counts["busy"]:
        return
    observer.observe(SENT, counts[SENT])
    for name in (*_OF_TICKS, *_OF_GATES, WAITING_LONG):
        observer.add(name, counts[name])
    if counts[_OLDEST]:
        observer.observe(_OLDEST, counts[_OLDEST])
    observer.add("waits_for_pool", counts["without_pool"])
    observer.add("late_ticks", is_late := age_ms > lookahead * BUCKET_MS)
    observer.add(FAULTS, sum(counts[name] for name in _FAULTS) + is_late)
    observer.add(UNSETTLED, counts["aside"])


def observe_audit(observer: Observer, counts: Mapping[str, int]) -> None:
    observer.add("holes", counts.get("holes", 0))
    observer.add(UNSETTLED, counts.get("holes", 0))
    observer.add(FAULTS, counts.get("unavailable", 0))


def observe_stage(observer: Observer, *, undeliverable: int, missing: int) -> None:
    observer.add(UNDELIVERABLE, undeliverable)
    observer.add("workers_missing", missing)
    observer.add(WORKERS_LOST, missing)


def is_time_to_check(now: int) -> bool:
    return now // BUCKET_MS % CHECK_EVERY == 0
