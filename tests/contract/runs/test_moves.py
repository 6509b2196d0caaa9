"""Moves: whole or not at all, and only where what they expect holds."""

from dataclasses import replace
from typing import Any

import pytest

from onthedot.core import lifecycle
from onthedot.core.moves import Expect, Move
from onthedot.core.ports import Clock, Moved, Refused, RunStore
from onthedot.core.records import FIELDS, Status
from tests.builders import DEPLOYMENT, NOON, a_run, the_claim_of, the_start_of
from tests.contract.kits.full_run import a_run_with_every_field


def test_a_move_changes_what_it_says_and_nothing_else(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).due_in(600).pending().stored_in(store)
    move = the_claim_of(run, clock)

    expected = replace(run, status=Status.DISPATCHED, slot=move.changes["slot"], claim_token="tick/1", revision=2)
    assert store.move(move) == Moved(expected)
    assert store.get(run.run_id) == expected


def test_a_move_of_every_field_leaves_the_record_as_written(store: RunStore, clock: Clock) -> None:
    full = a_run_with_every_field(clock)
    run = a_run(clock).called(full.run_id).pending().stored_in(store)
    changes = {name: getattr(full, name) for name in FIELDS if name not in ("run_id", "job_id", "status", "revision")}

    outcome = store.move(Move(run.run_id, Expect(frozenset({Status.PENDING})), Status.DISPATCHED, changes))

    assert outcome == Moved(replace(full, status=Status.DISPATCHED, revision=2))


def test_a_move_of_a_missing_run_is_refused_with_nothing(store: RunStore, clock: Clock) -> None:
    assert store.move(the_claim_of(a_run(clock).build(), clock)) == Refused(None)
    assert store.get("job_nobody") is None


def test_a_move_from_another_status_is_refused_with_the_current_run(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).dispatched().stored_in(store)

    assert store.move(the_claim_of(run, clock)) == Refused(run)
    assert store.get(run.run_id) == run


@pytest.mark.parametrize("before", [Status.PENDING, Status.DISPATCHED])
def test_any_of_the_expected_statuses_will_do(store: RunStore, clock: Clock, before: Status) -> None:
    run = a_run(clock).standing(before, "fire#0#1").stored_in(store)

    outcome = store.move(lifecycle.delete(run, clock.now(), "tomb", DEPLOYMENT))

    assert isinstance(outcome, Moved)
    assert outcome.run is not None
    assert outcome.run.status is Status.DELETED


@pytest.mark.parametrize(
    ("stored", "equals", "at_most", "applied"),
    [
        ({"generation": "g"}, {"generation": "older"}, {}, False),
        ({}, {"claim_token": None}, {}, True),
        ({"claim_token": "somebody"}, {"claim_token": None}, {}, False),
        ({}, {"claim_token": "mine"}, {}, False),
        ({}, {}, {"lease_until": NOON * 2}, False),
    ],
    ids=["another value", "none, and none", "a value, not none", "none, not the value", "none is at most nothing"],
)
def test_a_move_needs_the_values_that_it_expects(
    store: RunStore,
    clock: Clock,
    stored: dict[str, Any],
    equals: dict[str, Any],
    at_most: dict[str, int],
    *,
    applied: bool,
) -> None:
    run = a_run(clock).having(**stored).pending().stored_in(store)
    move = Move(run.run_id, Expect(frozenset({Status.PENDING}), equals, at_most), Status.DISPATCHED, {})

    outcome = store.move(move)

    assert isinstance(outcome, Moved) if applied else outcome == Refused(run)


def test_a_run_starts_at_its_fire_time_but_not_a_millisecond_before(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).due_in(60).dispatched().stored_in(store)

    assert store.move(the_start_of(run, run.due_at - 1)) == Refused(run)
    assert isinstance(store.move(the_start_of(run, run.due_at)), Moved)


def test_none_removes_a_field(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).having(claim_token="t", reason="r").pending().stored_in(store)
    changes = {"claim_token": None, "reason": None, "worker": None}

    outcome = store.move(Move(run.run_id, Expect(frozenset({Status.PENDING})), Status.DISPATCHED, changes))

    assert outcome == Moved(replace(run, status=Status.DISPATCHED, claim_token=None, reason=None, revision=2))


def test_each_start_adds_one_to_the_stored_attempt(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).having(attempt=4).dispatched().stored_in(store)

    outcome = store.move(the_start_of(run, clock.now()))

    assert isinstance(outcome, Moved)
    assert outcome.run is not None
    assert (outcome.run.attempt, outcome.run.attempt_token) == (5, "mine")


def test_a_whole_life_is_recorded(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).pending().stored_in(store)
    store.move(the_claim_of(run, clock))
    started = store.move(the_start_of(run, clock.now()))
    assert isinstance(started, Moved)
    assert started.run is not None

    store.move(lifecycle.succeed(started.run, clock.now(), "200", DEPLOYMENT))

    ended = store.get(run.run_id)
    assert ended is not None
    assert (ended.status, ended.slot, ended.lease_until, ended.result) == (Status.SUCCEEDED, None, None, "200")
    assert [attempt.outcome for attempt in ended.attempts] == ["succeeded"]


def test_a_worker_of_an_earlier_attempt_is_fenced_off(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).dispatched().stored_in(store)
    first = store.move(the_start_of(run, clock.now()))
    assert isinstance(first, Moved)
    assert first.run is not None
    store.move(lifecycle.lose(first.run, clock.now(), generation="g2", deployment=DEPLOYMENT))
    store.move(lifecycle.start(run.run_id, "g2", now=clock.now(), worker="w2", attempt_token="theirs"))

    outcome = store.move(lifecycle.succeed(first.run, clock.now(), None, DEPLOYMENT))

    assert isinstance(outcome, Refused)
    assert outcome.current is not None
    assert outcome.current.attempt_token == "theirs"


def test_a_repeated_move_is_refused_and_shows_its_own_token(store: RunStore, clock: Clock) -> None:
    """Its first reply was lost: by the claim_token the mover knows that it was itself."""
    run = a_run(clock).pending().stored_in(store)
    move = the_claim_of(run, clock, claim_token="tick/mine")
    store.move(move)

    outcome = store.move(move)

    assert isinstance(outcome, Refused)
    assert outcome.current is not None
    assert outcome.current.claim_token == "tick/mine"
