"""The transition table, and the fields that a move may name."""

import pytest

from onthedot.core.moves import TRANSITIONS, Expect, IllegalMove, Move, applied
from onthedot.core.records import FIELDS, Status
from tests.builders import VirtualClock, a_run

PENDING = Expect(frozenset({Status.PENDING}))


@pytest.mark.parametrize("before", Status)
@pytest.mark.parametrize("after", Status)
def test_a_move_is_legal_exactly_when_the_table_says_so(before: Status, after: Status) -> None:
    if after in TRANSITIONS[before]:
        Move("r", Expect(frozenset({before})), after, {})
    else:
        with pytest.raises(IllegalMove):
            Move("r", Expect(frozenset({before})), after, {})


def test_nothing_leads_out_of_an_end_but_deletion_and_the_redrive_of_a_dead_letter() -> None:
    for end in (Status.SUCCEEDED, Status.CANCELLED):
        assert TRANSITIONS[end] - {end} == {Status.DELETED}
    assert TRANSITIONS[Status.FAILED] - {Status.FAILED} == {Status.DELETED, Status.PENDING, Status.DISPATCHED}
    assert TRANSITIONS[Status.DELETED] == {Status.DELETED}


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("status", "RUNNING", "a move's status is its `to`"),
        ("revision", 7, "every move counts the revision, and none sets it"),
        ("run_id", "other", "a move cannot change 'run_id'"),
        ("claim_tokn", "t", "Record has no field 'claim_tokn'"),
    ],
)
def test_a_change_of_a_field_that_a_move_may_not_write_is_refused(field: str, value: object, why: str) -> None:
    with pytest.raises(IllegalMove, match=why):
        Move("r", PENDING, Status.DISPATCHED, {"slot": None, field: value})


def test_every_other_field_can_be_changed() -> None:
    Move("r", PENDING, Status.DISPATCHED, dict.fromkeys(set(FIELDS) - {"run_id", "status", "revision"}))


@pytest.mark.parametrize(
    ("expect", "why"),
    [
        (Expect(PENDING.status, {"generatoin": "g"}), "Record has no field 'generatoin'"),
        (Expect(PENDING.status, at_most={"fire": 1}), "Record has no integer field 'fire'"),
        (Expect(PENDING.status, at_most={"generation": 1}), "Record has no integer field 'generation'"),
    ],
)
def test_an_expectation_of_an_unknown_field_is_refused(expect: Expect, why: str) -> None:
    with pytest.raises(IllegalMove, match=why):
        Move("r", expect, Status.DISPATCHED, {})


@pytest.mark.parametrize("name", ["atempt", "reason", "due_at", "revision"])
def test_only_counters_can_be_incremented(name: str) -> None:
    with pytest.raises(IllegalMove, match=f"Record has no counter '{name}'"):
        Move("r", PENDING, Status.DISPATCHED, {}, increments={name: 1})


@pytest.mark.parametrize("name", ["childern", "parents", "reason"])
def test_only_sets_can_be_added_to_and_removed_from(name: str) -> None:
    members = {name: frozenset({"x"})}
    with pytest.raises(IllegalMove, match=f"Record has no set field '{name}'"):
        Move("r", PENDING, Status.DISPATCHED, {}, adds=members)
    with pytest.raises(IllegalMove, match=f"Record has no set field '{name}'"):
        Move("r", PENDING, Status.DISPATCHED, {}, removes=members)


def test_a_move_applied_changes_counts_adds_and_removes() -> None:
    run = a_run(VirtualClock()).having(children=frozenset({"a"}), waits_for=frozenset({"p", "q"})).build()
    move = Move(
        run.run_id,
        PENDING,
        Status.DISPATCHED,
        {"reason": "because", "slot": None},
        {"dependents": 1},
        adds={"children": frozenset({"b"})},
        removes={"waits_for": frozenset({"q", "unknown"})},
    )
    after = applied(run, move)
    assert (after.status, after.reason, after.slot) == (Status.DISPATCHED, "because", None)
    assert (after.dependents, after.revision) == (1, run.revision + 1)
    assert after.children == {"a", "b"}
    assert after.waits_for == {"p"}


def test_a_set_whose_value_is_removed_is_empty() -> None:
    run = a_run(VirtualClock()).having(waits_for=frozenset({"p"})).build()
    assert applied(run, Move(run.run_id, PENDING, Status.DISPATCHED, {"waits_for": None})).waits_for == frozenset()
