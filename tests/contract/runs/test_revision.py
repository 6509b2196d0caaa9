"""Every change of a record counts in its revision, whatever makes it, so that readers can order what they hear."""

from dataclasses import replace

from onthedot.core import lifecycle
from onthedot.core.moves import applied
from onthedot.core.ports import Clock, Deadline, Moved, Refused, RunStore
from onthedot.core.records import Record
from onthedot.jobs.changes import pause
from onthedot.workflows import dependencies
from tests.builders import a_run, the_claim_of, the_start_of


def revision(store: RunStore, run: Record) -> int:
    found = store.get(run.run_id)
    assert found is not None
    return found.revision


def test_a_new_record_has_the_first_revision_however_it_is_created(
    store: RunStore, clock: Clock, soon: Deadline
) -> None:
    alone, one_of_many = a_run(clock).build(), a_run(clock).build()
    store.create(alone)
    store.create_many([one_of_many], soon)
    assert revision(store, alone) == revision(store, one_of_many) == 1


def test_every_move_adds_one(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).dispatched().stored_in(store)
    started = store.move(the_start_of(run, clock.now()))
    assert isinstance(started, Moved)
    assert started.run is not None
    extended = store.move(lifecycle.extend_lease(started.run, clock.now() + 1))
    assert isinstance(extended, Moved)
    assert extended.run is not None
    assert (started.run.revision, extended.run.revision, revision(store, run)) == (2, 3, 3)


def test_a_move_in_a_batch_adds_one(store: RunStore, clock: Clock, soon: Deadline) -> None:
    run = a_run(clock).due_in(600).pending().stored_in(store)
    store.move_many([the_claim_of(run, clock)], soon)
    assert revision(store, run) == 2


def test_a_move_that_is_refused_adds_nothing(store: RunStore, clock: Clock, soon: Deadline) -> None:
    run = a_run(clock).due_in(600).pending().stored_in(store)
    stale = the_claim_of(replace(run, generation="another"), clock)
    assert isinstance(store.move(stale), Refused)
    assert isinstance(store.move_many([stale], soon)[0], Refused)
    assert revision(store, run) == 1


def test_a_move_that_only_changes_sets_adds_one(store: RunStore, clock: Clock) -> None:
    parent = a_run(clock).due_in(600).pending().stored_in(store)
    store.move(dependencies.link_child(parent, "job_child"))
    assert revision(store, parent) == 2


def test_the_record_that_a_mover_expects_is_the_one_that_stands_there(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).due_in(600).pending().having(version=1).stored_in(store)
    move = pause(run, clock.now())
    assert move is not None
    assert store.move(move) == Moved(applied(run, move))
