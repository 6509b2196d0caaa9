"""A record that this version cannot read is told apart from the others, and stops the reading of none of them."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from onthedot.core import lifecycle
from onthedot.core.errors import UnreadableRecord
from onthedot.core.lifecycle import Failure
from onthedot.core.ports import Deadline, Moved, Refused
from onthedot.core.records import Kind, Record, Status
from onthedot.core.set_aside import UNHANDLED, fault_of
from onthedot.core.slots import aside_slot, slot_shard
from tests.builders import DEPLOYMENT, a_run, the_claim_of, the_start_of
from tests.contract.kits.kit import Kit

Damage = Mapping[str, str | int | None]

IN_THE_INDEX: Mapping[str, tuple[Damage, str]] = {
    "no generation": ({"generation": None}, "it has no generation"),
    "unknown kind": ({"kind": "chronic"}, "chronic"),
    "unknown priority": ({"priority": "URGENT"}, "URGENT"),
    "newer format": ({"format": 99}, "it has format 99, and this version knows formats up to 1"),
}
"""Damages that the due index shows."""
IN_THE_RECORD: Mapping[str, tuple[Damage, str]] = {
    **IN_THE_INDEX,
    "unknown status": ({"status": "FROZEN"}, "its status cannot be read"),
    "definition that is not JSON": ({"definition": "{"}, "its definition cannot be read"),
    "unknown target": ({"definition": '{"target":{"type":"telex"}}'}, "its definition cannot be read"),
    "zone that is gone": (
        {"recurrence": '{"cron":"0 0 * * *","timezone":"Mars/Olympus"}'},
        "its recurrence cannot be read",
    ),
    "time aside that is not a number": ({"aside_since": "late"}, "its aside_since cannot be read"),
    "recurring job without a schedule": ({"kind": "recurring"}, "it is a recurring job without a schedule"),
}


def a_damaged_run(kit: Kit, damage: Damage, *, pending: bool = True) -> Record:
    builder = a_run(kit.clock).due_in(600 if pending else 0)
    run = (builder.pending() if pending else builder.dispatched()).stored_in(kit.store())
    kit.damage(run.run_id, damage)
    return run


@pytest.mark.parametrize(("damage", "why"), IN_THE_INDEX.values(), ids=IN_THE_INDEX)
def test_a_slot_shows_its_other_entries(kit: Kit, damage: Damage, why: str) -> None:
    bad = a_damaged_run(kit, damage)
    assert bad.slot is not None
    good = a_run(kit.clock).due_in(601).standing(Status.PENDING, bad.slot).stored_in(kit.store())

    page = kit.store().read_slot(bad.slot)

    assert [entry.run_id for entry in page.items] == [good.run_id]
    assert [(one.run_id, one.slot) for one in page.unreadable] == [(bad.run_id, bad.slot)]
    assert why in page.unreadable[0].why


@pytest.mark.parametrize(("damage", "why"), IN_THE_RECORD.values(), ids=IN_THE_RECORD)
def test_a_read_by_id_names_the_fault(kit: Kit, soon: Deadline, damage: Damage, why: str) -> None:
    bad = a_damaged_run(kit, damage)
    good = a_run(kit.clock).stored_in(kit.store())

    read = kit.store().get_many([bad.run_id, good.run_id, "job_none"], soon)

    assert (dict(read.found), read.unread) == ({good.run_id: good}, frozenset())
    assert list(read.unreadable) == [bad.run_id]
    assert why in read.unreadable[bad.run_id].why
    assert read.unreadable[bad.run_id].tenant == "acme"
    with pytest.raises(UnreadableRecord, match=bad.run_id):
        kit.store().get(bad.run_id)


def test_lists_show_their_other_records(kit: Kit) -> None:
    store = kit.store()
    job = a_run(kit.clock).stored_in(store)
    runs = [
        a_run(kit.clock).having(run_id=f"{job.run_id}.{n}", job_id=job.run_id, kind=Kind.STAMPED).stored_in(store)
        for n in range(3)
    ]
    kit.damage(runs[2].run_id, {"status": "FROZEN"})

    first = store.runs_of(job.run_id, 2)
    second = store.runs_of(job.run_id, 2, first.cursor)

    assert [run.run_id for run in (*first.items, *second.items)] == [runs[1].run_id, runs[0].run_id]
    assert [one.run_id for one in first.unreadable] == [runs[2].run_id]


def test_dead_letters_show_their_other_records(kit: Kit) -> None:
    store = kit.store()
    dead: list[str] = []
    for _ in range(2):
        started = store.move(the_start_of(a_run(kit.clock).dispatched().stored_in(store), kit.clock.now()))
        assert isinstance(started, Moved)
        assert started.run is not None
        store.move(lifecycle.fail(started.run, kit.clock.now(), failure=Failure("no"), why="no", deployment=DEPLOYMENT))
        dead.append(started.run.run_id)
    kit.damage(dead[0], {"definition": "{"})

    page = store.failed("acme", 10)

    assert [run.run_id for run in page.items] == [dead[1]]
    assert [one.run_id for one in page.unreadable] == [dead[0]]


@pytest.mark.parametrize("many", [False, True])
def test_a_newer_format_is_never_moved(kit: Kit, soon: Deadline, *, many: bool) -> None:
    run = a_damaged_run(kit, {"format": 2})
    claim = the_claim_of(run, kit.clock)

    outcome = kit.store().move_many([claim], soon)[0] if many else kit.store().move(claim)

    assert isinstance(outcome, Refused)
    assert outcome.current is None
    assert outcome.unreadable is not None
    assert (outcome.unreadable.run_id, outcome.unreadable.status) == (run.run_id, "PENDING")


def test_a_create_is_refused_by_a_record_that_cannot_be_read(kit: Kit, soon: Deadline) -> None:
    run = a_damaged_run(kit, {"kind": "chronic"})

    outcome = kit.store().create_many([run], soon)[0]

    assert isinstance(outcome, Refused)
    assert outcome.unreadable is not None
    with pytest.raises(UnreadableRecord):
        kit.store().create(run)


@pytest.mark.parametrize("damage", [{"kind": "chronic"}, {"generation": None}, {"format": 99}])
def test_a_record_is_set_aside_and_nothing_else_of_it_changes(kit: Kit, damage: Damage) -> None:
    run = a_damaged_run(kit, damage)
    assert run.slot is not None
    aside = aside_slot(slot_shard(run.slot))

    assert kit.store().set_aside(run.run_id, run.slot, "it is odd", kit.clock.now())

    assert kit.store().read_slot(run.slot).unreadable == []
    assert [one.run_id for one in kit.store().read_slot(aside).unreadable] == [run.run_id]
    kit.damage(run.run_id, {"kind": "one-off", "generation": run.generation, "format": None})
    healed = kit.store().get(run.run_id)
    assert healed is not None
    assert (healed.slot, healed.aside_from, healed.aside_why) == (aside, run.slot, "it is odd")
    assert healed.aside_since is not None
    assert (healed.status, healed.generation, healed.revision) == (run.status, run.generation, run.revision)


def test_a_record_that_has_left_its_slot_is_not_set_aside(kit: Kit) -> None:
    run = a_run(kit.clock).due_in(600).pending().stored_in(kit.store())
    assert run.slot is not None
    kit.store().move(the_claim_of(run, kit.clock))

    assert not kit.store().set_aside(run.run_id, run.slot, "it is odd", kit.clock.now())


def test_values_of_a_newer_version_inside_a_field_are_ignored(kit: Kit) -> None:
    run = a_run(kit.clock).stored_in(kit.store())
    newer = (
        '{"url":"http://x/","proxy":"p","retry":{"max_retries":1,"spread":2},'
        '"requirements":{"cpu":1,"gpu":1},"colour":"red"}'
    )
    kit.damage(run.run_id, {"definition": newer, "attempts": '[[1,"w",2,3,"failed","no","http_500","a newer value"]]'})

    read = kit.store().get(run.run_id)

    assert read is not None
    assert read.definition is not None
    assert (read.definition.retry.max_retries, read.definition.requirements.cpu) == (1, 1)
    assert read.attempts[0].error_class == "http_500"


def test_a_batch_moves_its_other_records(kit: Kit, soon: Deadline) -> None:
    damage, _ = IN_THE_RECORD["definition that is not JSON"]
    bad = a_damaged_run(kit, damage)
    good = [a_run(kit.clock).due_in(600).pending().stored_in(kit.store()) for _ in range(2)]
    runs = [good[0], bad, good[1]]

    outcomes = kit.store().move_many([the_claim_of(run, kit.clock) for run in runs], soon)

    # DynamoDB moves the bad record too, because a batch reads no record. The worker or the sweep finds it then.
    assert isinstance(outcomes[1], Moved) or (isinstance(outcomes[1], Refused) and outcomes[1].unreadable is not None)
    assert isinstance(outcomes[0], Moved)
    assert isinstance(outcomes[2], Moved)
    for run in good:
        stored = kit.store().get(run.run_id)
        assert stored is not None
        assert stored.status is Status.DISPATCHED


def test_a_record_that_refuses_a_move_because_of_a_wrong_type_is_told_apart_from_a_lost_race(
    kit: Kit, soon: Deadline
) -> None:
    run = a_damaged_run(kit, {"generation": 5})
    assert run.slot is not None
    page = kit.store().read_slot(run.slot)
    moves = [the_claim_of(replace(run, generation=entry.generation), kit.clock) for entry in page.items]

    outcomes = kit.store().move_many(moves, soon) if moves else []

    faults = [fault_of(outcome, move) for move, outcome in zip(moves, outcomes, strict=True)]
    assert [*faults, *(one.why for one in page.unreadable)] in (
        ["its generation is not text"],
        [f"{UNHANDLED}it refuses to change although nothing else changed it, so a stored value has the wrong type"],
    )


def test_a_move_that_lost_a_race_is_no_fault(kit: Kit, soon: Deadline) -> None:
    run = a_run(kit.clock).due_in(600).pending().stored_in(kit.store())
    kit.store().move(the_claim_of(run, kit.clock, "other/1"))
    move = the_claim_of(run, kit.clock)

    (outcome,) = kit.store().move_many([move], soon)

    assert isinstance(outcome, Refused)
    assert fault_of(outcome, move) is None
