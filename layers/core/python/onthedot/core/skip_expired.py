"""End a run whose time for the first start is over, on every path: at its start, at a gate, or in a sweep."""

from contextlib import suppress
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.engine import Core
from onthedot.core.errors import Unavailable
from onthedot.core.outcomes import current_record
from onthedot.core.ports import Deadline
from onthedot.core.records import SCHEDULED, Record, Status
from onthedot.core.start_window import has_expired

TRIES: Final = 8


def skip_expired(engine: Core, run: Record, deadline: Deadline | None = None) -> bool:
    """End the run as skipped if it was not started in time, and notify its children. Return whether it has ended so.

    A run that another process moves meanwhile is left to that process. Children that cannot be notified now are
    notified by the sweep. Raise Unavailable.
    """
    for _ in range(TRIES):
        now = engine.clock.now()
        if run.status not in SCHEDULED or not has_expired(run, now):
            return False
        current = current_record(engine.store.move(lifecycle.skip_expired(run, now, engine.deployment)))
        if current is None or current.generation != run.generation:
            return False
        if current.status is Status.SKIPPED:
            with suppress(Unavailable):
                engine.notify_children(current, deadline)
            return True
        if current.status is not run.status:
            return False
        run = current  # a child was added meanwhile
    raise Unavailable(f"{run.run_id} keeps changing; try again")
