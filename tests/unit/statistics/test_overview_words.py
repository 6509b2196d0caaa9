"""What holds runs up, and the one word and few sentences that sum up the runs of a tenant."""

from dataclasses import replace

import pytest

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, tenant_gate
from onthedot.core.reasons import Reason
from onthedot.gates.explained import GateFacts, waits_at
from onthedot.gates.limits import GateLimits
from onthedot.gates.state import GateState
from onthedot.statistics.counters import BOUNDS_MS, Counters
from onthedot.statistics.hold_ups import at_gate, at_workers, in_queue
from onthedot.statistics.summary import LargestCause, State, summarize
from tests.builders import VirtualClock, a_run


def late(count: int, lateness: int) -> Counters:
    counts = [0] * (len(BOUNDS_MS) + 1)
    counts[BOUNDS_MS.index(lateness)] = count
    return Counters(succeeded=count, counts=tuple(counts), max_ms=lateness)


@pytest.mark.parametrize(
    ("hour", "state", "parts"),
    [
        (Counters(succeeded=12_299, failed=23), State.ON_TIME, ["12,322 runs", "23 failed"]),
        (Counters(succeeded=96, failed=4), State.ON_TIME, ["4 failed"]),
        (Counters(succeeded=95, failed=5), State.FAILING, ["5 failed"]),
        (Counters(failed=100), State.FAILING, ["100 failed"]),
        (Counters(), State.IDLE, []),
        (Counters(skipped=2), State.IDLE, ["2 skipped"]),
        (Counters(skipped=1, cancelled=1), State.IDLE, ["1 skipped", "1 cancelled"]),
        (Counters(succeeded=1, skipped=2, cancelled=1), State.ON_TIME, ["4 runs", "2 skipped", "1 cancelled"]),
        (late(10, 5_000), State.ON_TIME, ["10 runs"]),
        (late(10, 20_000), State.LATE, ["10 runs", "20 s late or later"]),
    ],
)
def test_the_last_hour_has_a_state_and_its_numbers(hour: Counters, state: State, parts: list[str]) -> None:
    found = summarize(None, hour, None, [])
    assert found.state is state
    assert all(part in found.message for part in parts), found.message


def test_the_largest_cause_of_failures_is_named() -> None:
    found = summarize(None, Counters(succeeded=1, failed=23), LargestCause("HTTP 503", 18), [])
    assert "HTTP 503 (18)" in found.message


def test_hold_ups_are_more_urgent_than_failures_and_late_ticks_than_hold_ups() -> None:
    failing = Counters(failed=3)
    held_up = summarize(None, failing, None, ["gate stripe is paused", "another"])
    assert held_up.state is State.HELD_UP
    assert held_up.message.endswith("Gate stripe is paused. And 1 more.")
    ticks = summarize("no tick has ended", failing, None, ["another"])
    assert ticks.state is State.LATE
    assert ticks.message.startswith("No tick has ended. 3 runs")
    assert summarize(None, None, None, ["another"]).state is State.HELD_UP


NOW = 1_767_225_600_000


@pytest.mark.parametrize(
    ("named", "limits", "code"),
    [
        ("stripe", GateLimits(paused=True, put_at=1_000, put_by="alice"), "gate_stopped"),
        (None, GateLimits(paused=True, put_at=1_000, put_by="an admin"), "limit_stopped"),
        ("stripe", GateLimits(in_flight=0), "gate_stopped"),
        ("stripe", GateLimits(in_flight=5, per_second=0.5), "gate_full"),
        ("stripe", GateLimits(), "gate_full"),
    ],
)
def test_a_gate_says_why_runs_wait(named: str | None, limits: GateLimits, code: str) -> None:
    gate = tenant_gate("acme") if named is None else GateId("acme", named)
    found = at_gate(gate, limits, 5, 2, since=NOW)
    assert (found.code, found.gate, found.runs, found.since) == (code, named, 2, NOW)
    assert ("by alice at 1970-01-01T00:00:01.000Z" in found.message) == (limits.put_by == "alice")
    assert "admin" not in found.message, "which token an admin has is no matter of the tenant"
    assert at_gate(gate, limits, 5, 1_000, more=True).message.count("ore than 1,000 runs") == 1


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
    assert "pool default, priority HIGH, the oldest for 22 min" in found.message
    many = in_queue("long", None, 100, 61_000, NOW, more=True)
    assert many is not None
    assert many.message.startswith("more than 100 runs wait in")
