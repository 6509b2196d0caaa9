"""Why a gate refused a run, in the words that are stored with the run."""

import pytest

from onthedot.core.gate_names import GateId, queue_gate, tenant_gate, turn_gate
from onthedot.gates.limits import GateLimits
from onthedot.gates.state import GateState, Holder, why_refused

STRIPE = GateId("acme", "stripe")
A, B, OLD = Holder("a", "g", 20, "job_a"), Holder("b", "g", 10, "job_b"), Holder("c", "g", 5, "")


@pytest.mark.parametrize(
    ("gate", "limits", "holders", "why"),
    [
        (STRIPE, GateLimits(paused=True), (), "the gate was paused"),
        (tenant_gate("acme"), GateLimits(paused=True, in_flight=1), (A,), "the tenant was paused"),
        (STRIPE, GateLimits(in_flight=0), (), "the gate let nothing start"),
        (STRIPE, GateLimits(in_flight=1), (A,), "1 of 1 place was in use, the longest by job_a"),
        (STRIPE, GateLimits(in_flight=2), (A, B), "2 of 2 places were in use, the longest by job_b"),
        (STRIPE, GateLimits(in_flight=1), (OLD,), "1 of 1 place was in use"),
        (STRIPE, GateLimits(in_flight=2), (A,), "other runs waited before it"),
        (STRIPE, GateLimits(per_second=1), (), "other runs waited before it"),
        (turn_gate("acme", "job_a"), GateLimits(in_flight=1), (), None),
        (queue_gate("pull-medium"), GateLimits(in_flight=1), (), None),
    ],
)
def test_a_refusal_has_its_words(
    gate: GateId, limits: GateLimits, holders: tuple[Holder, ...], why: str | None
) -> None:
    assert why_refused(gate, limits, GateState(holders=frozenset(holders))) == why


def test_a_gate_of_several_pages_counts_no_holders() -> None:
    state = GateState(holders=frozenset({A}), capacity=40)
    assert (
        why_refused(STRIPE, GateLimits(in_flight=40), state)
        == "its 40 places were in use, or other runs waited before it"
    )
