"""Runs: put-if-absent, and read."""

from onthedot.codec import FIELDS
from onthedot.ports import Clock, RunStore
from tests.builders import a_run
from tests.contract.full_run import a_run_with_every_field


def test_a_free_id_is_taken_by_create(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).build()

    assert store.create(run) is None
    assert store.get(run.run_id) == run


def test_a_taken_id_is_left_alone_and_what_stands_there_returned_whole(store: RunStore, clock: Clock) -> None:
    first = a_run_with_every_field(clock)
    store.create(first)

    assert store.create(a_run(clock).called(first.run_id).build()) == first
    assert store.get(first.run_id) == first


def test_a_run_that_does_not_exist_is_none(store: RunStore) -> None:
    assert store.get("job_nobody") is None


def test_every_field_comes_back_as_it_was_stored(store: RunStore, clock: Clock) -> None:
    run = a_run_with_every_field(clock)
    missing = [name for name in FIELDS if getattr(run, name) in (None, (), 0, "")]
    assert not missing, "the case must fill every field"

    store.create(run)

    assert store.get(run.run_id) == run
