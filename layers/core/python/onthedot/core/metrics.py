"""The metrics of a write: which counts a move, or a record that is stored, adds to.

`docs/operations.md` explains the names. Every path of a run passes a move, so each worker, the API and the dispatcher
count by the same rules.
"""

from collections import Counter
from typing import Final

from onthedot.core.gate_names import QUEUE, gate_of_slot
from onthedot.core.moves import Move
from onthedot.core.records import Record, Status

LATENESS: Final = "lateness_ms"
"""Milliseconds from the fire time of an attempt to its start: a value for each start, so their number is the starts."""
SUCCEEDED: Final = "succeeded"
"""1 for each attempt that succeeded, 0 for each that failed or was lost: their average is the share of successes."""
DEAD: Final = "dead"
"""Runs that failed for good."""
LOST: Final = "lost"
"""Attempts whose worker died."""
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
    """Return the name of the metric for a run or a range that is skipped with this reason."""
    words = [word for beginning, word in SKIP_WORDS.items() if (reason or "").startswith(beginning)]
    return f"skipped_{words[0] if words else _OTHER}"


def is_start(move: Move) -> bool:
    return move.to is Status.RUNNING and "attempt" in move.increments


def lateness_of(run: Record) -> int:
    """Return how many milliseconds after its fire time the present attempt of a run started."""
    return max(0, (run.started_at or run.due_at) - run.due_at)


def outcome_of(move: Move) -> int | None:
    """Return 1 if the move ends an attempt with success, 0 if without, and None for every other move."""
    ended = move.changes.get("attempts")
    return _ATTEMPT_ENDS.get(ended[-1].outcome) if ended else None


def counts_of(move: Move) -> Counter[str]:
    """Return the counts of a move that was written."""
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
    """Return the counts of a record that was stored for the first time.

    Skipped times are stored as ended, and so are jobs of a workflow that was not made.
    """
    if record.failed_under is not None:
        return Counter({DEAD: 1})
    if record.status is not Status.SKIPPED:
        return Counter()
    return Counter({skip_metric(record.reason): record.skipped_count or 1})
