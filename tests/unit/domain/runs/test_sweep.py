"""What the sweep decides about a run in a watch slot."""

from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.lifecycle import LEASE_MS, MAX_RESENDS
from onthedot.core.records import Record, Status
from onthedot.core.send import is_backlogged
from onthedot.core.sweep import LONG_WAIT_MS, PATIENCE_MS, Act, Leave, decide, waits_long
from tests.builders import DEPLOYMENT, NOON, VirtualClock, a_run


def decided(run: Record, *, late_ms: int = PATIENCE_MS, backlogged: bool | None = False, **given: Any) -> str:
    """The action word, or the decision not to act."""
    decision = decide(
        run,
        given.pop("slot", run.slot),
        now=run.due_at + late_ms,
        backlogged=backlogged,
        claim_token="t",
        generation="g",
        deployment=DEPLOYMENT,
        **given,
    )
    return decision.what if isinstance(decision, Act) else type(decision).__name__


def waiting(pool: str, resends: int = 0) -> Record:
    return a_run(VirtualClock()).dispatched().having(pool=pool, resends=resends).build()


def running() -> Record:
    fields = {"started_at": NOON, "lease_until": NOON + LEASE_MS, "attempt": 1, "attempt_token": "t", "worker": "w"}
    return a_run(VirtualClock()).having(**fields).standing(Status.RUNNING, "watch#0#1").build()


@pytest.mark.parametrize("pool", ["default", "pull", "removed"])
def test_a_run_that_was_not_started_is_sent_again(pool: str) -> None:
    assert decided(waiting(pool)) == "resent"
    assert decided(waiting(pool, MAX_RESENDS - 1)) == "resent"


@pytest.mark.parametrize(
    ("pool", "then"),
    [("default", "undeliverable"), ("long", "undeliverable"), ("pull", "resent"), ("removed", "resent")],
)
def test_only_a_run_that_is_pushed_to_its_workers_is_undeliverable(pool: str, then: str) -> None:
    assert decided(waiting(pool, MAX_RESENDS)) == then
    assert decided(waiting(pool, 100)) == then


@pytest.mark.parametrize(
    ("visible", "oldest_age_ms", "may_hold"),
    [(0, None, False), (5, None, True), (5, 120_000, True), (5, 119_999, False)],
    ids=["empty", "age unknown", "as old as the run is late", "only younger messages"],
)
def test_a_queue_may_hold_a_message_unless_all_of_its_messages_are_younger(
    visible: int, oldest_age_ms: int | None, *, may_hold: bool
) -> None:
    assert is_backlogged(120_000, visible, oldest_age_ms) is may_hold


@pytest.mark.parametrize("resends", [0, MAX_RESENDS])
@pytest.mark.parametrize("pool", ["default", "pull"])
def test_a_run_whose_queue_cannot_be_asked_looks_later_and_is_not_sent(pool: str, resends: int) -> None:
    run = waiting(pool, resends)
    decision = decide(
        run, run.slot or "", now=NOON, backlogged=None, claim_token="t", generation="g", deployment=DEPLOYMENT
    )
    assert isinstance(decision, Act)
    assert (decision.what, decision.send, set(decision.move.changes)) == ("queue_unavailable", False, {"slot"})


def test_a_run_behind_a_backlog_is_left_and_then_looked_at_later() -> None:
    assert decided(waiting("pull"), backlogged=True, late_ms=PATIENCE_MS - 1) == Leave.__name__
    assert decided(waiting("pull"), backlogged=True) == "waits"


def test_a_run_that_has_left_the_slot_is_none_of_the_sweeps_business() -> None:
    assert decided(waiting("pull"), slot="watch#0#2") == type(None).__name__


@pytest.mark.parametrize(
    ("late_ms", "never_begun", "then"),
    [
        (LEASE_MS, False, "reparked"),
        (LEASE_MS, True, "reparked"),
        (LEASE_MS + 2_001, False, "lost"),
        (LEASE_MS + 2_001, True, "taken_back"),
    ],
)
def test_an_attempt_is_judged_only_when_its_lease_is_over(late_ms: int, never_begun: bool, then: str) -> None:
    assert decided(running(), late_ms=late_ms, never_begun=never_begun) == then


def test_an_hour_is_long_in_a_pull_pool_and_ten_minutes_in_a_push_pool() -> None:
    run = waiting("default")
    assert not waits_long(run, run.due_at + PATIENCE_MS, DEPLOYMENT)
    assert waits_long(run, run.due_at + PATIENCE_MS + 1, DEPLOYMENT)
    pulled = replace(run, pool="pull")
    assert not waits_long(pulled, run.due_at + LONG_WAIT_MS, DEPLOYMENT)
    assert waits_long(pulled, run.due_at + LONG_WAIT_MS + 1, DEPLOYMENT)
    assert not waits_long(running(), NOON + 10 * LONG_WAIT_MS, DEPLOYMENT)


@pytest.mark.parametrize("backlogged", [True, False, None])
@pytest.mark.parametrize(("pool", "resends"), [("default", 0), ("default", MAX_RESENDS), ("pull", 3), ("removed", 0)])
def test_a_run_whose_time_to_start_is_over_ends_and_is_not_sent(
    pool: str, resends: int, backlogged: bool | None
) -> None:
    run = replace(waiting(pool, resends), start_within_seconds=60)
    late = replace(run, start_by=run.due_at + PATIENCE_MS - 1)
    assert decided(late, backlogged=backlogged) == "expired"
    in_time = replace(run, start_by=run.due_at + PATIENCE_MS)
    assert decided(in_time, backlogged=backlogged) == decided(waiting(pool, resends), backlogged=backlogged)
    retried = replace(late, attempt=1)
    assert decided(retried, backlogged=backlogged) != "expired"


def test_a_running_attempt_has_started_in_time() -> None:
    assert decided(replace(running(), start_by=NOON), late_ms=1) == "reparked"
