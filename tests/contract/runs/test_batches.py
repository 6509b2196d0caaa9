"""Many at once: every entry has its own answer, and racing claims have one winner each."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from onthedot.core.moves import Expect, Move
from onthedot.core.ports import Clock, Deadline, Moved, Refused, RunStore
from onthedot.core.records import Definition, Record, Status
from onthedot.targets.types import HttpTarget
from tests.builders import a_run, the_claim_of


def pending_runs(count: int, store: RunStore, clock: Clock) -> list[Record]:
    return [a_run(clock).due_in(600).pending().stored_in(store) for _ in range(count)]


def test_nothing_asked_is_nothing_answered(store: RunStore, soon: Deadline) -> None:
    assert list(store.move_many([], soon)) == []
    assert store.get_many([], soon).found == {}


def test_more_than_a_hundred_runs_are_read_at_once_and_missing_ones_left_out(
    store: RunStore, clock: Clock, soon: Deadline
) -> None:
    runs = pending_runs(130, store, clock)
    wanted = [run.run_id for run in runs] + ["job_nobody", "job_noone"]

    assert store.get_many(wanted, soon).found == {run.run_id: run for run in runs}


@pytest.mark.parametrize("made_up", ["", ".", ".000001", "tokens", "tokens.x", "workers", "token#x"])
def test_an_id_that_no_record_can_have_is_not_found_and_hides_no_other(
    store: RunStore, clock: Clock, soon: Deadline, made_up: str
) -> None:
    """A user may send any text as an id. A holder of a gate that cannot be read has an empty one."""
    [run] = pending_runs(1, store, clock)
    read = store.get_many([made_up, run.run_id], soon)
    assert (set(read.found), read.unread) == ({run.run_id}, frozenset())
    assert store.get(made_up) is None


def test_an_id_asked_for_twice_is_answered_once(store: RunStore, clock: Clock, soon: Deadline) -> None:
    [run] = pending_runs(1, store, clock)

    assert store.get_many([run.run_id, run.run_id], soon).found == {run.run_id: run}


def test_each_move_has_its_own_answer_in_order(store: RunStore, clock: Clock, soon: Deadline) -> None:
    first, stale, last = pending_runs(3, store, clock)
    missing = a_run(clock).build()
    moves = [
        the_claim_of(first, clock),
        the_claim_of(replace(stale, generation="old"), clock),
        the_claim_of(missing, clock),
    ]

    outcomes = store.move_many([*moves, the_claim_of(last, clock)], soon)

    assert [type(outcome) for outcome in outcomes] == [Moved, Refused, Refused, Moved]
    assert list(outcomes[1:3]) == [Refused(stale), Refused(None)]
    found = store.get_many([first.run_id, stale.run_id, missing.run_id, last.run_id], soon).found
    assert {run_id: run.claim_token for run_id, run in found.items()} == {
        first.run_id: "tick/1",
        stale.run_id: None,
        last.run_id: "tick/1",
    }


def test_more_moves_than_one_call_takes_are_all_made(store: RunStore, clock: Clock, soon: Deadline) -> None:
    runs = pending_runs(60, store, clock)

    outcomes = store.move_many([the_claim_of(run, clock) for run in runs], soon)

    assert [type(outcome) for outcome in outcomes] == [Moved] * 60
    found = store.get_many([run.run_id for run in runs], soon).found
    assert {run.status for run in found.values()} == {Status.DISPATCHED}


def test_a_batched_move_means_the_same_as_a_single_one(store: RunStore, clock: Clock, soon: Deadline) -> None:
    """Sets, removals, increments, statuses, absences and bounds, in the other dialect."""
    single = a_run(clock).having(reason="r", attempt=2).dispatched().stored_in(store)
    batched = replace(single, run_id="job_batched", job_id="job_batched")
    store.create(batched)
    expect = Expect(
        frozenset({Status.DISPATCHED, Status.RUNNING}), {"worker": None, "attempt": 2}, {"fire_at": clock.now()}
    )
    changes = {"reason": None, "slot": None, "worker": "w", "lease_until": 7, "attempts": ()}
    for run in (single, batched):
        move = Move(run.run_id, expect, Status.RUNNING, changes, {"attempt": 1})
        assert isinstance(store.move(move) if run is single else store.move_many([move], soon)[0], Moved)

    one, other = store.get(single.run_id), store.get(batched.run_id)

    assert one is not None
    assert other is not None
    assert replace(other, run_id=one.run_id, job_id=one.job_id) == one
    assert (one.attempt, one.reason, one.slot, one.worker) == (3, None, None, "w")


@pytest.mark.parametrize(
    "expect",
    [
        Expect(frozenset({Status.PENDING, Status.RUNNING})),
        Expect(frozenset({Status.DISPATCHED}), {"worker": "w"}),
        Expect(frozenset({Status.DISPATCHED}), {"reason": None}),
        Expect(frozenset({Status.DISPATCHED}), at_most={"fire_at": 1}),
        Expect(frozenset({Status.DISPATCHED}), at_most={"lease_until": 2**45}),
    ],
    ids=["other status", "absent value", "value where none is expected", "bound", "bound on an absent field"],
)
def test_a_batched_move_is_refused_where_a_single_one_is(
    store: RunStore, clock: Clock, soon: Deadline, expect: Expect
) -> None:
    run = a_run(clock).having(reason="r").dispatched().stored_in(store)
    move = Move(run.run_id, expect, Status.DISPATCHED, {"claim_token": "never"})

    assert list(store.move_many([move], soon)) == [Refused(run)]
    assert store.move(move) == Refused(run)


def test_two_moves_of_one_run_in_a_batch_are_a_mistake(store: RunStore, clock: Clock, soon: Deadline) -> None:
    [run] = pending_runs(1, store, clock)

    with pytest.raises(ValueError, match="different runs"):
        store.move_many([the_claim_of(run, clock), the_claim_of(run, clock)], soon)
    assert store.get(run.run_id) == run


def test_repeated_moves_are_refused_and_show_their_own_token(store: RunStore, clock: Clock, soon: Deadline) -> None:
    moves = [the_claim_of(run, clock, claim_token="tick/mine") for run in pending_runs(3, store, clock)]
    store.move_many(moves, soon)

    outcomes = store.move_many(moves, soon)

    tokens = [outcome.current.claim_token for outcome in outcomes if isinstance(outcome, Refused) and outcome.current]
    assert tokens == ["tick/mine"] * 3


def test_of_eight_racing_dispatchers_one_wins_each_run(store: RunStore, clock: Clock, soon: Deadline) -> None:
    runs = pending_runs(50, store, clock)
    together = Barrier(8)

    def race(racer: int) -> list[str]:
        together.wait()
        token = f"tick/{racer}"
        outcomes = store.move_many([the_claim_of(run, clock, claim_token=token) for run in runs], soon)
        return [run.run_id for run, outcome in zip(runs, outcomes, strict=True) if isinstance(outcome, Moved)]

    with ThreadPoolExecutor(8) as racers:
        won = dict(enumerate(racers.map(race, range(8))))

    assert Counter(run_id for wins in won.values() for run_id in wins) == {run.run_id: 1 for run in runs}
    found = store.get_many([run.run_id for run in runs], soon).found
    assert {run_id: f"tick/{racer}" for racer, wins in won.items() for run_id in wins} == {
        run_id: run.claim_token for run_id, run in found.items()
    }


def test_of_eight_racing_creates_one_wins(store: RunStore, clock: Clock) -> None:
    runs = [a_run(clock).called("job_same").build() for _ in range(8)]
    together = Barrier(8)

    def race(run: Record) -> Record | None:
        together.wait()
        return store.create(run)

    with ThreadPoolExecutor(8) as racers:
        answers = list(racers.map(race, runs))

    winner = runs[answers.index(None)]
    assert answers.count(None) == 1
    assert [answer for answer in answers if answer is not None] == [winner] * 7


def test_more_bytes_than_one_answer_of_dynamodb_takes_are_read(store: RunStore, clock: Clock, soon: Deadline) -> None:
    """It answers with up to 16 MB and names the keys that are left."""
    large = Definition(HttpTarget("http://x/"), description="x" * 390_000)
    runs = [a_run(clock).having(definition=large).build() for _ in range(45)]
    assert all(isinstance(outcome, Moved) for outcome in store.create_many(runs, soon))

    read = store.get_many([run.run_id for run in runs], soon)

    assert (set(read.found), read.unread) == ({run.run_id for run in runs}, frozenset())
