"""Runs: put-if-absent, and read."""

from dataclasses import fields

import pytest

from onthedot.core.choices import Requirements
from onthedot.core.ports import Clock, RunStore
from onthedot.core.records import FIELDS, Definition
from onthedot.targets.types import TYPES, Target, type_of
from tests.builders import a_run
from tests.contract.kits.full_run import TARGETS, a_run_with_every_field


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
    assert missing == ["format"], "the case must fill every field but the one that only newer versions store"
    assert run.definition is not None
    plain = Definition(run.definition.target)
    same = [one.name for one in fields(Definition) if getattr(run.definition, one.name) == getattr(plain, one.name)]
    assert same == ["target"], "the case must change every field of the definition"

    store.create(run)

    assert store.get(run.run_id) == run


@pytest.mark.parametrize("target", TARGETS, ids=type_of)
def test_every_kind_of_target_comes_back_as_it_was_stored(store: RunStore, clock: Clock, target: Target) -> None:
    run = a_run(clock).having(definition=Definition(target)).stored_in(store)

    assert store.get(run.run_id) == run


def test_the_cases_have_every_kind_of_target() -> None:
    assert {type_of(target) for target in TARGETS} == set(TYPES)


@pytest.mark.parametrize("asked", [Requirements(("gpu",)), Requirements(cpu=0.25), Requirements(memory_mb=64)])
def test_requirements_come_back_as_they_were_stored(store: RunStore, clock: Clock, asked: Requirements) -> None:
    run = a_run(clock).having(definition=Definition(TARGETS[0], requirements=asked)).stored_in(store)

    assert store.get(run.run_id) == run
