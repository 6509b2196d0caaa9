"""The moves of a run's life."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, gate_of_slot, queue_gate, waiting_slot
from onthedot.core.lifecycle import Failure
from onthedot.core.moves import Move, applied
from onthedot.core.records import SCHEDULED, TERMINAL, Record, Status
from onthedot.core.slots import BUCKET_MS, Deployment, aside_slot, bucket_of, fire_slot, slot_shard
from onthedot.gates import run_moves
from onthedot.gates.rate import LONGEST_AHEAD_MS
from onthedot.jobs import changes
from onthedot.jobs.changes import JobChange
from tests.builders import DEPLOYMENT, NOON, VirtualClock, a_run, the_claim_of, the_start_of

LATER = NOON + 5_000


def running(**fields: object) -> Record:
    run = a_run(VirtualClock()).due_in(0).dispatched().build()
    start = lifecycle.start(run.run_id, run.generation, now=NOON, worker="w", attempt_token="t")
    return replace(applied(run, start), **fields)  # type: ignore[arg-type]


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


@pytest.mark.parametrize(
    ("run", "move"),
    [
        (a_run(VirtualClock()).pending().build(), lambda run: the_claim_of(run, VirtualClock())),
        (a_run(VirtualClock()).dispatched().build(), lambda run: the_start_of(run, NOON)),
        (
            a_run(VirtualClock()).dispatched().build(),
            lambda run: lifecycle.skip("r", run.generation, NOON, "w", DEPLOYMENT),
        ),
    ],
    ids=["claim", "start", "skip"],
)
def test_a_run_that_was_scheduled_again_since_it_was_read_refuses(run: Record, move: Callable[[Record], Move]) -> None:
    assert move(run).expect.is_met_by(run)
    assert not move(run).expect.is_met_by(replace(run, generation="another"))


@pytest.mark.parametrize("moved", [{"resends": 1}, {"slot": "watch#0#1"}, {"generation": "another"}], ids=str)
def test_a_run_that_another_sweep_has_moved_refuses_this_one(moved: dict[str, object]) -> None:
    run = a_run(VirtualClock()).dispatched().build()
    for move in (
        lifecycle.resend(run, LATER, claim_token="t", deployment=DEPLOYMENT),
        lifecycle.look_later(run, LATER, DEPLOYMENT),
        lifecycle.undeliverable(run, LATER, DEPLOYMENT),
    ):
        assert move.expect.is_met_by(run)
        assert not move.expect.is_met_by(replace(run, **moved))  # type: ignore[arg-type]


@pytest.mark.parametrize("moved", [{"version": 7}, {"generation": "another"}, {"due_at": LATER}], ids=str)
def test_a_job_that_was_changed_claimed_or_advanced_meanwhile_refuses_a_change(moved: dict[str, object]) -> None:
    job = a_run(VirtualClock()).due_in(600).pending().build()
    for move in (
        changes.pause(job, NOON),
        changes.cancel(job, NOON, DEPLOYMENT),
        changes.change(job, JobChange(at=LATER + 10**9), NOON, DEPLOYMENT),
        changes.assign(job, "pull", NOON, DEPLOYMENT),
    ):
        assert move is not None
        assert move.expect.is_met_by(job)
        assert not move.expect.is_met_by(replace(job, **moved))  # type: ignore[arg-type]


def test_a_job_is_not_cancelled_without_a_child_that_was_added_meanwhile() -> None:
    """Nobody would notify it."""
    job = a_run(VirtualClock()).due_in(600).pending().build()
    cancel = changes.cancel(job, NOON, DEPLOYMENT)
    assert cancel is not None
    assert not cancel.expect.is_met_by(replace(job, children=frozenset({"child"}), dependents=1))


def test_a_retry_asks_its_gates_as_a_newcomer() -> None:
    """At a gate that limits the rate only, an attempt holds nothing, and is still the run that was woken."""
    run = running(woken="stripe", start_by=LATER)
    retry = lifecycle.retry(run, LATER, at=LATER, failure=Failure("e"), generation="g", deployment=DEPLOYMENT)
    tried_again = applied(run, retry)
    assert (tried_again.woken, tried_again.start_by) == (None, None)


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


STRIPE = GateId("acme", "stripe")
LIST = waiting_slot(STRIPE, Priority.MEDIUM, 0)


def put_on_list(run_id: str, generation: str) -> Move:
    return run_moves.wait(run_id, generation, LIST, LATER, gate="stripe", fresh_generation="w")


def waiting() -> Record:
    """A run on the waiting list of a gate."""
    sent = a_run(VirtualClock()).dispatched().build()
    return applied(sent, put_on_list(sent.run_id, sent.generation))


def woken(at: int | None = None) -> Move:
    return run_moves.wake(waiting(), LATER, deployment=DEPLOYMENT, woken="stripe", at=at)


def reserved(at: int, deployment: Deployment = DEPLOYMENT) -> Move:
    return run_moves.reserve("r", "g", at, LATER, woken="stripe", fresh_generation="new", deployment=deployment)


def test_a_run_that_has_reserved_an_instant_is_sent_for_it_however_far_it_is() -> None:
    """A claim pass would send it as a newcomer, which has no instant and gets the last one."""
    at = LATER + LONGEST_AHEAD_MS
    assert reserved(at, Deployment(shards=2, lookahead=0, history_days=7)).to is Status.DISPATCHED


@pytest.mark.parametrize(
    "move",
    [
        woken(),
        woken(LATER + 90_000),
        reserved(LATER + 1_000),
        reserved(LATER + 119_000, Deployment(shards=2, lookahead=0, history_days=7)),
        run_moves.fence(a_run(VirtualClock()).dispatched().build(), LATER, fresh_generation="n", deployment=DEPLOYMENT),
        run_moves.release(waiting(), LATER, fresh_generation="new", deployment=DEPLOYMENT),
        lifecycle.change_slot("r", "g", LIST, fire_slot(1, NOON, LATER)),
        lifecycle.put_back(replace(waiting(), slot=aside_slot(0), aside_from=LIST), LATER, DEPLOYMENT),
        changes.assign(waiting(), "pull", LATER, DEPLOYMENT),
        changes.change(waiting(), JobChange(at=LATER + 10**9), LATER, DEPLOYMENT),
        changes.change(waiting(), JobChange(priority=Priority.HIGH), LATER, DEPLOYMENT),
        changes.resume(replace(waiting(), status=Status.PAUSED, slot=None, woken="stripe"), LATER, DEPLOYMENT),
    ],
    ids=[
        "wake", "wake for an instant", "reserve near", "reserve far", "fence", "release", "leave the list", "put back",
        "assign", "later time", "other priority", "resume",
    ],
)  # fmt: skip
def test_a_run_that_leaves_a_waiting_list_or_keeps_away_from_it_stands_in_a_slot_that_is_still_to_be_read(
    move: Move | None,
) -> None:
    assert move is not None
    kind, distance = ("fire", 0) if move.to is Status.PENDING else ("watch", 2)
    assert move.to in SCHEDULED
    assert move.changes["slot"].startswith(f"{kind}#")
    assert bucket_in(move.changes["slot"]) - bucket_of(LATER) >= distance


@pytest.mark.parametrize(
    "move",
    [
        put_on_list("r", "g"),
        lifecycle.change_slot(
            "r", "g", fire_slot(1, NOON, NOON), waiting_slot(queue_gate("default-low"), Priority.LOW, 3)
        ),
    ],
    ids=["wait", "wait for its queue"],
)
def test_a_run_that_waits_is_pending_on_the_list_of_a_gate(move: Move) -> None:
    assert move.to is Status.PENDING
    assert gate_of_slot(move.changes["slot"]) is not None
    assert slot_shard(move.changes["slot"]) == 0, "a record that cannot be read goes to the aside slot of shard 0"


def test_who_waits_is_reached_by_no_message_of_before() -> None:
    run = waiting()
    assert (run.generation, run.claim_token, run.resends, run.woken) == ("w", None, 0, None)


@pytest.mark.parametrize(
    "move",
    [
        changes.pause(waiting(), LATER),
        changes.cancel(waiting(), LATER, DEPLOYMENT),
        lifecycle.delete(waiting(), LATER, "new", DEPLOYMENT),
        lifecycle.skip_missed(waiting(), LATER, "missed", DEPLOYMENT),
    ],
    ids=["pause", "cancel", "delete", "missed"],
)
def test_a_waiting_run_that_is_stopped_is_on_no_list(move: Move | None) -> None:
    assert move is not None
    assert move.changes["slot"] is None
    assert move.expect.is_met_by(waiting())


def test_a_run_is_taken_off_a_list_once_only() -> None:
    run = waiting()
    off = applied(run, woken())
    assert not woken().expect.is_met_by(off)
    assert not run_moves.release(run, LATER, fresh_generation="n", deployment=DEPLOYMENT).expect.is_met_by(off)
    assert not lifecycle.change_slot(run.run_id, run.generation, LIST, "fire#1#1").expect.is_met_by(off)


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
        run = applied(
            run, lifecycle.retry(run, NOON, at=NOON, failure=Failure("e"), generation="g", deployment=DEPLOYMENT)
        )
        run = replace(run, status=Status.RUNNING)
    assert len(run.attempts) == lifecycle.KEPT_ATTEMPTS


@pytest.mark.parametrize(("history", "days"), [(1, 14), (90, 90)])
def test_a_record_outlives_its_idempotency_key(history: int, days: int) -> None:
    move = lifecycle.succeed(running(), NOON, None, Deployment(1, 3, history))
    assert move.changes["expires_at"] == NOON // 1000 + days * 86_400
