"""A record as the importing stage stores it, and which records move at all."""

from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.records import Kind, Record, Status
from onthedot.core.slots import Deployment, fire_slot, shard_of, watch_slot
from onthedot.events.lifecycle import event_of
from onthedot.transfer.entries import as_imported, is_history, is_running, moves
from tests.builders import NOON, VirtualClock, a_run

MANY = Deployment(shards=64, lookahead=3, history_days=7)
DAY = 86_400_000


def a_record(**fields: Any) -> Record:
    return replace(a_run(VirtualClock()).due_in(600).build(), **fields)


def shard(record: Record) -> int:
    return shard_of(record.job_id, MANY.shards)


@pytest.mark.parametrize("status", [Status.PENDING, Status.DISPATCHED])
@pytest.mark.parametrize("slot", ["fire#0#1", "watch#0#1", "wait#0#MEDIUM#0#4:acme#g", "aside#0"])
def test_a_run_that_has_not_started_is_pending_in_its_own_fire_slot(status: Status, slot: str) -> None:
    run = a_record(status=status, slot=slot, claim_token="t/1", resends=3, woken="g", aside_from="fire#0#1")
    moved = as_imported(run, NOON, MANY)
    assert (moved.status, moved.slot) == (Status.PENDING, fire_slot(shard(run), run.fire_at, NOON))
    assert (moved.claim_token, moved.resends, moved.woken, moved.aside_from) == (None, 0, None, None)
    assert (moved.run_id, moved.fire_at, moved.attempt) == (run.run_id, run.fire_at, run.attempt)


def test_a_run_that_was_due_meanwhile_is_in_a_slot_that_is_read() -> None:
    run = a_record(status=Status.PENDING, slot="fire#0#1", fire_at=NOON - DAY)
    assert as_imported(run, NOON, MANY).slot == fire_slot(shard(run), NOON, NOON)


def test_a_running_attempt_is_lost_and_the_run_tried_again() -> None:
    run = a_record(status=Status.RUNNING, slot="watch#0#1", attempt=2, attempt_token="a", held=("0#g",), worker="w")
    moved = as_imported(run, NOON, MANY)
    assert (moved.status, moved.attempt, moved.losses, moved.held) == (Status.PENDING, 2, 1, ())
    assert moved.slot == fire_slot(shard(run), NOON, NOON)
    assert moved.attempts[-1].outcome == "lost"


def test_a_running_attempt_that_a_client_cancelled_ends() -> None:
    run = a_record(status=Status.RUNNING, slot="watch#0#1", attempt=1, cancel_requested=NOON, worker="w")
    moved = as_imported(run, NOON, MANY)
    assert (moved.status, moved.slot) == (Status.CANCELLED, None)


@pytest.mark.parametrize(
    "fields",
    [
        {"status": Status.SUCCEEDED},
        {"status": Status.PAUSED},
        {"status": Status.WAITING},
        {"status": Status.ACTIVE, "kind": Kind.EVENT},
        {"status": Status.DELETED},
    ],
)
def test_a_record_in_no_slot_stays_in_none(fields: dict[str, Any]) -> None:
    run = a_record(**fields, slot=None)
    assert as_imported(run, NOON, MANY) == replace(run, revision=2)


@pytest.mark.parametrize(
    "fields",
    [
        {"status": Status.SUCCEEDED, "notify_pending": 1},
        {"status": Status.PAUSED, "given_up": "1 2 3"},
        {"status": Status.WAITING},
    ],
)
def test_a_record_with_an_unfinished_step_is_in_a_watch_slot(fields: dict[str, Any]) -> None:
    run = a_record(**fields, slot="watch#0#1")
    moved = as_imported(run, NOON, MANY)
    assert (moved.status, moved.slot) == (run.status, watch_slot(shard(run), NOON, NOON))


def test_a_recurring_job_is_in_the_fire_slot_of_its_position() -> None:
    job = a_record(status=Status.ACTIVE, kind=Kind.RECURRING, slot="fire#0#1")
    assert as_imported(job, NOON, MANY).slot == fire_slot(shard(job), job.fire_at, NOON)


@pytest.mark.parametrize("status", [Status.SUCCEEDED, Status.PENDING, Status.WAITING, Status.RUNNING])
def test_no_event_is_published_of_an_imported_record(status: Status) -> None:
    run = a_record(status=status, slot=None if status is Status.SUCCEEDED else "watch#0#1", finished_at=NOON)
    assert event_of(None, run, NOON, every_change=True, with_results=False) is not None
    assert event_of(None, as_imported(run, NOON, MANY), NOON, every_change=True, with_results=False) is None


def ended(days: float, **fields: Any) -> Record:
    return a_record(**{"status": Status.SUCCEEDED, "slot": None, "finished_at": NOON - round(days * DAY), **fields})


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (ended(3, kind=Kind.STAMPED), True),
        (ended(1, kind=Kind.STAMPED), False),
        (ended(3, kind=Kind.SKIPPED_RANGE, status=Status.SKIPPED), True),
        (ended(13), False),
        (ended(15), True),
        (ended(15, status=Status.CANCELLED), True),
        (ended(15, status=Status.FAILED), False),
        (ended(15, status=Status.DELETED), False),
        (ended(15, status=Status.COMPLETED, kind=Kind.RECURRING), False),
        (ended(15, status=Status.CANCELLED, kind=Kind.EVENT), False),
        (ended(15, children=frozenset({"job_b"})), False),
        (ended(15, workflow="job_w"), False),
        (ended(15, slot="watch#0#1", notify_pending=1), False),
        (a_record(status=Status.PENDING), False),
    ],
)
def test_history_is_what_only_readers_of_the_past_need(record: Record, expected: bool) -> None:
    assert is_history(record, NOON) is expected
    assert moves(record, NOON, history=False) is not expected
    assert moves(record, NOON, history=True)


def test_expired_records_and_the_stages_own_do_not_move() -> None:
    assert not moves(ended(1, expires_at=NOON // 1000), NOON, history=True)
    assert moves(ended(1, expires_at=NOON // 1000 + 1), NOON, history=True)
    assert not moves(a_record(tenant="onthedot"), NOON, history=True)


def test_an_attempt_is_alive_until_its_lease_is_over_by_any_clock() -> None:
    run = a_record(status=Status.RUNNING, lease_until=NOON)
    assert is_running(run, NOON + 2_000)
    assert not is_running(run, NOON + 2_001)
    assert not is_running(replace(run, status=Status.SUCCEEDED), NOON)
