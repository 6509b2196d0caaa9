"""Pure decisions about gates: their names, the turns of priorities, which holders a look frees, and why a run waits."""

from collections import Counter
from dataclasses import replace

import pytest

from onthedot.core.choices import Priority
from onthedot.core.clock import VirtualClock
from onthedot.core.gate_names import (
    GateId,
    gate_of_slot,
    queue_gate,
    share,
    tenant_gate,
    turn_gate,
    turns,
    waiting_slot,
)
from onthedot.core.lifecycle import CLOCK_MARGIN_MS, LEASE_MS
from onthedot.core.records import Record, Status
from onthedot.core.slots import slot_shard
from onthedot.gates.limits import GateLimits
from onthedot.gates.state import STARTED_AFTER_MS, GateState, Holder, Repair, decide, why_refused
from tests.builders import a_run

STRIPE = GateId("acme", "stripe")
AWKWARD = [
    GateId("acme", "customer", "a:b#c/d"),
    GateId("acme", "customer", "ключ"),
    GateId("1:a#b", "x"),
    GateId("a", "b", "1:a#b"),
    tenant_gate("acme"),
    queue_gate("default/HIGH"),
]


def test_a_gate_is_read_from_its_waiting_list() -> None:
    for gate in AWKWARD:
        slot = waiting_slot(gate, Priority.LOW, 3)
        assert gate_of_slot(slot) == gate
        assert slot_shard(slot) == 0
    assert len({waiting_slot(gate, Priority.LOW, 0) for gate in AWKWARD}) == len(AWKWARD)


@pytest.mark.parametrize("slot", [None, "fire#0#1", "aside#0", "keys#0#4:acme#customer"])
def test_other_slots_are_no_waiting_lists(slot: str | None) -> None:
    assert gate_of_slot(slot) is None


def test_each_round_of_turns_has_six_three_and_one() -> None:
    rounds = [list(turns(f"token {number}")) for number in range(50)]
    for one in rounds:
        assert Counter(one) == {Priority.HIGH: 6, Priority.MEDIUM: 3, Priority.LOW: 1}
    assert {one[0] for one in rounds} == set(Priority)
    assert share(Priority.LOW, [Priority.HIGH, Priority.LOW]) == pytest.approx(1 / 7)


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


A, B, UNREADABLE = Holder("a", "g", 20, "job_a"), Holder("b", "g", 10, "job_b"), Holder("c", "g", 5, "")


@pytest.mark.parametrize(
    ("gate", "limits", "holders", "why"),
    [
        (tenant_gate("acme"), GateLimits(paused=True, in_flight=1), (A,), "the tenant was paused"),
        (STRIPE, GateLimits(in_flight=0), (), "the gate let nothing start"),
        (STRIPE, GateLimits(in_flight=2), (A, B), "2 of 2 places were in use, the longest by job_b"),
        (STRIPE, GateLimits(in_flight=1), (UNREADABLE,), "1 of 1 place was in use"),
        (STRIPE, GateLimits(in_flight=2), (A,), "other runs waited before it"),
        (turn_gate("acme", "job_a"), GateLimits(in_flight=1), (), None),
    ],
)
def test_a_run_stores_why_a_gate_refused_it(
    gate: GateId, limits: GateLimits, holders: tuple[Holder, ...], why: str | None
) -> None:
    assert why_refused(gate, limits, GateState(holders=frozenset(holders))) == why
