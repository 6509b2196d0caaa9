"""Reasons for which due runs do not start now, as sentences."""

from dataclasses import replace

import pytest

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, tenant_gate
from onthedot.core.reasons import Reason
from onthedot.gates.explained import GateFacts, waits_at
from onthedot.gates.limits import GateLimits
from onthedot.gates.state import GateState
from onthedot.statistics.hold_ups import at_gate, at_workers, in_queue
from tests.builders import VirtualClock, a_run

NOW = 1_767_225_600_000


@pytest.mark.parametrize(
    ("named", "limits", "code", "message"),
    [
        ("stripe", GateLimits(paused=True), "gate_stopped", "gate stripe is paused, so nothing starts; 2 runs wait"),
        (
            "stripe",
            GateLimits(paused=True, put_at=1_000, put_by="alice"),
            "gate_stopped",
            "gate stripe is paused (set by alice at 1970-01-01T00:00:01.000Z), so nothing starts; 2 runs wait",
        ),
        (
            None,
            GateLimits(paused=True, put_at=1_000, put_by="an admin"),
            "limit_stopped",
            "tenant acme is paused (set at 1970-01-01T00:00:01.000Z), so nothing starts; 2 runs wait",
        ),
        (None, GateLimits(paused=True), "limit_stopped", "tenant acme is paused, so nothing starts; 2 runs wait"),
        (
            "stripe",
            GateLimits(in_flight=0),
            "gate_stopped",
            "gate stripe has in_flight 0, so nothing starts; 2 runs wait",
        ),
        ("stripe", GateLimits(in_flight=5), "gate_full", "2 runs wait at gate stripe: 5 of 5 places are in use"),
        (
            "stripe",
            GateLimits(in_flight=5, per_second=0.5),
            "gate_full",
            "2 runs wait at gate stripe: 5 of 5 places are in use, 0.5 starts a second",
        ),
        ("stripe", GateLimits(), "gate_full", "2 runs wait at gate stripe: they go on soon"),
    ],
)
def test_a_gate_says_why_runs_wait(named: str | None, limits: GateLimits, code: str, message: str) -> None:
    gate = tenant_gate("acme") if named is None else GateId("acme", named)
    found = at_gate(gate, limits, 5, 2, since=NOW)
    assert (found.code, found.message, found.gate, found.runs, found.since) == (code, message, named, 2, NOW)


def test_more_runs_than_were_counted_are_said_to_be_more() -> None:
    found = at_gate(GateId("acme", "g"), GateLimits(in_flight=1), 1, 1_000, more=True)
    assert found.message.startswith("more than 1,000 runs wait")


@pytest.mark.parametrize("gate", [GateId("acme", "crm"), tenant_gate("acme")], ids=["gate", "tenant"])
@pytest.mark.parametrize("limits", [GateLimits(paused=True), GateLimits(in_flight=2, per_second=1)])
def test_an_overview_and_an_explanation_use_the_same_words(gate: GateId, limits: GateLimits) -> None:
    found = at_gate(gate, limits, 2, 3).message
    told = waits_at(gate, Priority.MEDIUM, GateFacts(limits, GateState(), 2, 0), NOW).message
    shared = told.split(";")[0].removeprefix("waits at ")
    assert shared in found


def test_runs_that_wait_for_any_worker_are_counted_and_others_are_named() -> None:
    run = replace(a_run(VirtualClock()).build(), pool="pull")
    unserved = at_workers(run, "train", Reason("no_worker", "no worker of pool pull is alive; start one"), 3)
    assert unserved.message == "3 runs wait: no worker of pool pull is alive; start one"
    unable = at_workers(
        run, "train", Reason("no_worker", "the only live worker of pool pull cannot run it: w lacks x"), 3
    )
    assert unable.message == "the only live worker of pool pull cannot run train: w lacks x"
    assert (unable.pool, unable.runs, unable.since) == ("pull", 3, run.due_at)


def test_a_queue_is_a_hold_up_when_its_oldest_run_waits_for_more_than_a_minute() -> None:
    assert in_queue("default", "HIGH", 5, 60_000, NOW) is None
    assert in_queue("default", "HIGH", 5, None, NOW) is None
    found = in_queue("default", "HIGH", 5, 1_308_000, NOW)
    assert found is not None
    assert (found.code, found.since, found.runs) == ("queue_old", NOW - 1_308_000, 5)
    where = "in the queue of pool default, priority HIGH, the oldest for 22 min: the workers do not keep up"
    assert found.message == f"5 runs wait {where}"
    shared = in_queue("long", None, 1, 61_000, NOW)
    assert shared is not None
    assert shared.message.startswith("1 run waits in the queue of pool long, the oldest for 61 s")
    many = in_queue("long", None, 100, 61_000, NOW, more=True)
    assert many is not None
    assert many.message.startswith("more than 100 runs wait in")
