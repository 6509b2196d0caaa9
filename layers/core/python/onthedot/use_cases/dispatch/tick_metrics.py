"""Turn the counts of a tick, of an audit and of a check of the stage into metrics."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from onthedot.domain.reports.metrics import WORKERS_LOST
from onthedot.domain.runs.slots import BUCKET_MS
from onthedot.domain.workers.records import WorkerStatus
from onthedot.ports.metrics import Observer
from onthedot.workers.registry import WorkerRegistry

SENT: Final = "sent"
"""Runs that a tick sent: a value for each tick that was done, 0 included, so their number is the ticks."""
FAULTS: Final = "faults"
"""Steps that failed because a service did, and ticks that were late."""
UNSETTLED: Final = "unsettled"
"""Records, messages and fire times with which the code could not do what it should."""
WAITING_LONG: Final = "waiting_long"
UNDELIVERABLE: Final = "undeliverable"
CHECK_EVERY: Final = 5
"""Minutes between two checks of dead-letter queues and pools."""
_OF_TICKS: Final = ("unsent", "resent", "slot_failed", "gate_failed", "queue_not_flagged", "out_of_time")
_OF_GATES: Final = ("gates_waiting", "woken", "places_freed")
_OLDEST: Final = "gate_oldest_seconds"
_FAULTS: Final = ("slot_failed", "gate_failed", "queue_not_flagged")


def observe_tick(observer: Observer, counts: Counter[str], *, age_ms: int, lookahead: int) -> None:
    """Note a tick that was done. `age_ms` is the time since it was planned.

    A tick that is older than the lookahead sends its runs late. A tick that found another one under way did nothing.
    """
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
    """Note an audit: holes, and slots that it could not read."""
    observer.add("holes", counts.get("holes", 0))
    observer.add(UNSETTLED, counts.get("holes", 0))
    observer.add(FAULTS, counts.get("unavailable", 0))


def missing_workers(registry: WorkerRegistry, least: Mapping[str, int], now: int) -> int:
    """Return how many live workers the pools have less than their minimum, over all pools. Raise Unavailable."""
    live = Counter(one.pool for one in registry.workers() if one.status(now) is WorkerStatus.ACTIVE)
    return sum(max(0, number - live[pool]) for pool, number in least.items())


def observe_stage(observer: Observer, *, undeliverable: int, missing: int) -> None:
    """Note a check of the dead-letter queues and of the pools' workers."""
    observer.add(UNDELIVERABLE, undeliverable)
    observer.add("workers_missing", missing)
    observer.add(WORKERS_LOST, missing)


def is_time_to_check(now: int) -> bool:
    """Return whether a check of the stage is due in this minute."""
    return now // BUCKET_MS % CHECK_EVERY == 0
