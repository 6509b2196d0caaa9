"""Set aside the records that a pass cannot read or handle, and put them back later.

Such a record leaves its slot, so that it does not stop other runs and progress goes on. It keeps all its other values.
It stays in the aside slot of its shard until a version can read it, or an operator repairs it.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.engine import Core
from onthedot.core.errors import Unavailable, Unreadable
from onthedot.core.moves import Move
from onthedot.core.outcomes import Outcome
from onthedot.core.ports import Deadline, Moved, Refused, SlotEntry, Undecided
from onthedot.core.records import Record, Status
from onthedot.core.slots import DECISION_MS, aside_slot, bucket_of

_LOG: Final = logging.getLogger(__name__)
BUCKETS_BETWEEN: Final = 5
"""A shard looks at its aside slot this often."""
READ_AT_ONCE: Final = 100
UNHANDLED: Final = "handling it failed: "
"""The beginning of the reason for a record that can be read. It is tried again after `UNHANDLED_MS`."""
UNHANDLED_MS: Final = 3_600_000


def set_aside(engine: Core, counts: Counter[str], slot: str, faults: Mapping[str, str], deadline: Deadline) -> bool:
    """Set aside these records of a slot, each with its fault, while time is left. Return whether all were."""
    whole = True
    for run_id, why in faults.items():
        if not deadline.allows(engine.clock.now()):
            counts["out_of_time"] += 1
            return False
        whole = _set_one_aside(engine, counts, slot, run_id, why) and whole
    return whole


def faults_of(unreadable: Iterable[Unreadable]) -> dict[str, str]:
    return {one.run_id: one.why for one in unreadable}


def fault_of(outcome: Outcome, move: Move | None = None) -> str | None:
    """Return why a record must be set aside after this answer to a move. None: it need not be.

    A record that met the condition of a move when it was read, and still refuses it, would refuse it forever.
    """
    current = outcome.current if isinstance(outcome, Refused) else None
    if current is not None and move is not None and move.expect.is_met_by(current):
        return f"{UNHANDLED}it refuses to change although nothing else changed it, so a stored value has the wrong type"
    if isinstance(outcome, Refused) and outcome.unreadable is not None:
        return outcome.unreadable.why
    if isinstance(outcome, Undecided) and outcome.permanent:
        return f"{UNHANDLED}{outcome.why}"
    return None


def misplaced(entry: SlotEntry, outcome: Outcome) -> str | None:
    current = outcome.current if isinstance(outcome, Refused) else None
    if current is None or current.slot != entry.slot or current.status is Status.PENDING:
        return None
    return f"it is {current.status} in a {entry.slot.partition('#')[0]} slot"


def is_time_to_look(shard: int, bucket: int) -> bool:
    return (shard + bucket) % BUCKETS_BETWEEN == 0


def take_up(
    engine: Core,
    counts: Counter[str],
    shard: int,
    deadline: Deadline,
    *,
    unhandled_ms: int = UNHANDLED_MS,
    whole: bool = False,
) -> None:
    """Put the records of the aside slot that can be read again back into their slots.

    Go on while every record on a page goes back, or to the end with `whole`. Count those that stay as `aside`, for
    the alarm.
    """
    cursor: str | None = None
    while True:
        page = engine.store.read_slot(aside_slot(shard), cursor)
        ids = [entry.run_id for entry in page.items]
        returned = 0
        for some in _in_turn(ids, engine.clock.now()):
            number = _put_back(engine, shard, some, deadline, unhandled_ms)
            returned += number
            if not (number or whole) or not deadline.allows(engine.clock.now()):
                break
        counts.update(put_back=returned, aside=len(ids) + len(page.unreadable) - returned)
        cursor = page.cursor
        goes_on = (whole or (ids and returned == len(ids))) and deadline.allows(engine.clock.now())
        if cursor is None or not goes_on:
            return


def _in_turn(ids: Sequence[str], now: int) -> Iterator[Sequence[str]]:
    """Yield a few ids at a time, starting elsewhere at each look, so that unreadable records do not hide the others."""
    first = bucket_of(now) // BUCKETS_BETWEEN * READ_AT_ONCE % max(1, len(ids))
    turned = [*ids[first:], *ids[:first]]
    return (turned[start : start + READ_AT_ONCE] for start in range(0, len(ids), READ_AT_ONCE))


def _put_back(engine: Core, shard: int, run_ids: Sequence[str], deadline: Deadline, unhandled_ms: int) -> int:
    now = engine.clock.now()
    read = engine.store.get_many(run_ids, deadline)
    returning = [run for run in read.found.values() if _may_return(run, shard, now - unhandled_ms)]
    moves = [lifecycle.put_back(run, now, engine.deployment) for run in returning]
    outcomes = engine.store.move_many(moves, deadline.at_most(now + DECISION_MS)) if moves else []
    return sum(isinstance(outcome, Moved) for outcome in outcomes)


def _may_return(run: Record, shard: int, unhandled_since: int) -> bool:
    if run.slot != aside_slot(shard):
        return False
    return not (run.aside_why or "").startswith(UNHANDLED) or (run.aside_since or 0) <= unhandled_since


def _set_one_aside(engine: Core, counts: Counter[str], slot: str, run_id: str, why: str) -> bool:
    try:
        moved = engine.store.set_aside(run_id, slot, why, engine.clock.now())
    except Exception as error:  # noqa: BLE001 - a record that cannot be set aside must not stop the others
        level = logging.WARNING if isinstance(error, Unavailable) else logging.ERROR
        _LOG.log(level, "not_set_aside", extra={"run": run_id, "slot": slot, "why": why, "error": str(error)})
        return False
    counts["set_aside"] += moved
    if moved:
        _LOG.error("set_aside", extra={"run": run_id, "slot": slot, "why": why})
    return True
