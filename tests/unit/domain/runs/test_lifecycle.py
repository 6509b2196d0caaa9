"""The moves of a run's life."""

from dataclasses import replace

import pytest

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.lifecycle import Failure
from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.records import TERMINAL, Record, Status
from onthedot.domain.runs.slots import BUCKET_MS, bucket_of
from tests.builders import DEPLOYMENT, NOON, VirtualClock, a_run

LATER = NOON + 5_000


def running(**fields: object) -> Record:
    run = a_run(VirtualClock()).due_in(0).dispatched().build()
    start = lifecycle.start(run.run_id, run.generation, now=NOON, worker="w", attempt_token="t")
    return replace(lifecycle.applied(run, start), **fields)  # type: ignore[arg-type]


def bucket_in(slot: str | None) -> int:
    assert slot is not None
    return int(slot.split("#")[2])


@pytest.mark.parametrize(
    "move",
    [
        lifecycle.succeed(running(), LATER, None, DEPLOYMENT),
        lifecycle.fail(running(), LATER, failure=Failure("e"), why="w", deployment=DEPLOYMENT),
        lifecycle.lose(running(losses=4), LATER, generation="g", deployment=DEPLOYMENT),
        lifecycle.undeliverable(a_run(VirtualClock()).dispatched().build(), LATER, DEPLOYMENT),
        lifecycle.delete(running(), LATER, "g", DEPLOYMENT),
    ],
    ids=["succeed", "fail", "lose for good", "undeliverable", "delete"],
)
def test_what_ends_a_run_takes_it_out_of_the_due_index_and_lets_it_expire(move: Move) -> None:
    assert move.to in TERMINAL
    assert move.changes["slot"] is None
    assert move.changes["expires_at"] >= LATER // 1000 + 14 * 86_400
    assert move.changes["lease_until"] is None


def test_a_run_with_children_is_looked_after_until_they_know() -> None:
    parent = running(children=frozenset({"child"}), dependents=1)
    for move in (
        lifecycle.succeed(parent, LATER, None, DEPLOYMENT),
        lifecycle.fail(parent, LATER, failure=Failure("e"), why="w", deployment=DEPLOYMENT),
        lifecycle.stop(parent, LATER, Failure("e"), DEPLOYMENT),
        lifecycle.lose(replace(parent, losses=4), LATER, generation="g", deployment=DEPLOYMENT),
        lifecycle.delete(parent, LATER, "g", DEPLOYMENT),
    ):
        assert move.expect.equals["dependents"] == 1, "nobody ends it without knowing all its children"
        assert move.changes["slot"].startswith("watch#")
        assert (move.changes["notify_pending"], move.changes["expires_at"]) == (1, None)


@pytest.mark.parametrize(
    "move",
    [
        lifecycle.retry(running(), LATER, at=LATER + 1, failure=Failure("e"), generation="g", deployment=DEPLOYMENT),
        lifecycle.retry(
            running(), LATER, at=LATER + 10**9, failure=Failure("e"), generation="g", deployment=DEPLOYMENT
        ),
        lifecycle.lose(running(), LATER, generation="g", deployment=DEPLOYMENT),
        lifecycle.repark(running(lease_until=LATER), LATER, DEPLOYMENT),
        lifecycle.resend(a_run(VirtualClock()).dispatched().build(), LATER, claim_token="t", deployment=DEPLOYMENT),
        lifecycle.claim("r", "fire#1#29539440", "g", LATER, now=LATER, claim_token="t"),
        lifecycle.take_back(running(), LATER, generation="g", deployment=DEPLOYMENT),
        lifecycle.look_later(a_run(VirtualClock()).dispatched().build(), LATER, DEPLOYMENT),
        lifecycle.uncount_resend(a_run(VirtualClock()).dispatched().having(resends=1).build(), LATER, DEPLOYMENT),
    ],
    ids=["retry near", "retry far", "lose", "repark", "resend", "claim", "take back", "look later", "uncount resend"],
)
def test_a_live_run_always_stands_in_exactly_one_slot_that_is_still_to_be_read(move: Move) -> None:
    assert move.to not in TERMINAL
    slot = move.changes["slot"]
    kind = "fire" if move.to is Status.PENDING else "watch"
    assert slot.startswith(f"{kind}#")
    distance = bucket_in(slot) - bucket_of(LATER)
    assert distance >= (2 if kind == "watch" else 0)
    assert "expires_at" not in move.changes


def test_every_new_scheduling_has_a_new_generation_and_no_old_token() -> None:
    for move in (
        lifecycle.retry(running(), LATER, at=LATER, failure=Failure("e"), generation="new", deployment=DEPLOYMENT),
        lifecycle.lose(running(), LATER, generation="new", deployment=DEPLOYMENT),
        lifecycle.take_back(running(), LATER, generation="new", deployment=DEPLOYMENT),
    ):
        assert (move.changes["generation"], move.changes["claim_token"], move.changes["resends"]) == ("new", None, 0)


def test_resends_come_at_doubling_intervals() -> None:
    run = a_run(VirtualClock()).dispatched().build()
    waits = [
        bucket_in(
            lifecycle.resend(replace(run, resends=n), NOON, claim_token="t", deployment=DEPLOYMENT).changes["slot"]
        )
        - bucket_of(NOON)
        for n in range(8)
    ]
    assert waits == [2, 4, 8, 16, 32, 60, 60, 60], "up to an hour"


def test_a_renewed_run_stays_in_its_slot() -> None:
    run = a_run(VirtualClock()).dispatched().build()
    move = lifecycle.renew(run, "new")
    assert (move.to, move.changes, move.expect.equals["generation"]) == (
        Status.DISPATCHED,
        {"generation": "new"},
        run.generation,
    )


def test_a_parked_attempt_is_looked_at_soon_after_its_lease() -> None:
    lease = NOON + 10 * BUCKET_MS
    move = lifecycle.repark(running(lease_until=lease), NOON, DEPLOYMENT)
    assert bucket_in(move.changes["slot"]) == bucket_of(lease) + 1


def test_only_the_last_attempts_are_kept_so_that_the_record_stays_small() -> None:
    run = running()
    for _ in range(30):
        run = lifecycle.applied(
            run, lifecycle.retry(run, NOON, at=NOON, failure=Failure("e"), generation="g", deployment=DEPLOYMENT)
        )
        run = replace(run, status=Status.RUNNING)
    assert len(run.attempts) == lifecycle.KEPT_ATTEMPTS


@pytest.mark.parametrize(("history", "days"), [(1, 14), (90, 90)])
def test_a_record_outlives_its_idempotency_key(history: int, days: int) -> None:
    move = lifecycle.succeed(running(), NOON, None, Deployment(1, 3, history))
    assert move.changes["expires_at"] == NOON // 1000 + days * 86_400
