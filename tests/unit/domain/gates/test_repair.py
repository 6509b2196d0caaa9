"""The holders of a gate: which of them a look keeps, ends, fences off or frees."""

from dataclasses import replace

import pytest

from onthedot.core.clock import VirtualClock
from onthedot.core.lifecycle import CLOCK_MARGIN_MS, LEASE_MS
from onthedot.core.records import Record, Status
from onthedot.gates.state import STARTED_AFTER_MS, Holder, Repair, decide
from tests.builders import a_run

NOW = 1_700_000_000_000
RUN = replace(a_run(VirtualClock()).dispatched().build(), generation="g")
RUNNING = replace(RUN, status=Status.RUNNING, attempt_token="mine", lease_until=NOW + LEASE_MS)
MINE = Holder("mine", "g", NOW - 1_000, RUN.run_id)


@pytest.mark.parametrize(
    ("run", "holder", "step"),
    [
        (RUNNING, MINE, Repair.KEEP),
        (replace(RUNNING, lease_until=NOW - CLOCK_MARGIN_MS), MINE, Repair.KEEP),
        (replace(RUNNING, lease_until=NOW - CLOCK_MARGIN_MS - 1), MINE, Repair.LOSE),
        (replace(RUNNING, attempt_token="other"), MINE, Repair.FREE),
        (RUN, MINE, Repair.KEEP),
        (RUN, replace(MINE, at=NOW - STARTED_AFTER_MS), Repair.KEEP),
        (RUN, replace(MINE, at=NOW - STARTED_AFTER_MS - 1), Repair.FENCE),
        (replace(RUN, generation="h"), MINE, Repair.FREE),
        (replace(RUN, status=Status.PENDING), MINE, Repair.FREE),
        (replace(RUN, status=Status.SUCCEEDED), MINE, Repair.FREE),
        (None, MINE, Repair.FREE),
    ],
)
def test_a_place_is_freed_only_if_its_attempt_can_neither_run_nor_start(
    run: Record | None, holder: Holder, step: Repair
) -> None:
    assert decide(holder, run, NOW) is step
