"""A move that dies at any of its calls, before it or with its reply lost, and is repeated: every run runs once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from onthedot.core.ports import Deadline, Moved, Refused, RunStore, Undecided
from onthedot.core.records import Record, Status
from tests.scenarios.kits import recurring
from tests.scenarios.kits.faults import Crash
from tests.scenarios.kits.two_stages import TwoStages

MOST_CALLS = 22
MOST_CHANGES = 9


def a_busy_stage(stages: TwoStages) -> list[str]:
    """Jobs that fire before, during and after the move. Return the ids of their runs that are known already."""
    source = stages.source
    api = stages.api()
    assert api.send("PUT", "/v1/gates/narrow", in_flight=1).status == 200
    jobs = [source.submit(delay).job_id for delay in (1, 4, 7, 12, 30, 150)]
    jobs += [api.job(delay=delay, gates=["narrow"]) for delay in (5, 5, 20)]
    parent = api.job(delay=6, payload="x" * 5_000)
    jobs += [parent, api.job(dependencies=[parent])]
    recurring.submit(source, recurring.every(60, source), recurring.run_all())
    return jobs


def assert_each_ran_once(stages: TwoStages, jobs: list[str]) -> None:
    called = stages.called()
    assert {run: number for run, number in called.items() if number != 1} == {}, "ran twice"
    assert [job for job in jobs if job not in called] == [], "never ran"
    stamped = [run for run in called if "." in run]
    assert len(stamped) == 3, "each minute has one run"
    for job in jobs:
        record = stages.destination.world.store.get(job)
        assert record is not None
        assert record.status is Status.SUCCEEDED


def live_again(stages: TwoStages) -> Counter[str]:
    """What the frozen source calls afterwards."""
    before = len(stages.source.target.calls)
    stages.let_pass(120)
    return Counter(run for run, _, _ in stages.source.target.calls[before:])


def test_a_move_without_crashes_keeps_every_run(stages: TwoStages) -> None:
    began = stages.clock.now()
    jobs = a_busy_stage(stages)
    stages.let_pass(2)
    stages.move()
    moved = [run for run, _, _ in stages.source.target.calls]
    assert 1 <= len(moved) < len(jobs), "some ran before the move, and some after it"
    stages.let_pass((began + 200_000 - stages.clock.now()) / 1000)
    assert_each_ran_once(stages, jobs)
    assert not live_again(stages)
    assert (len(stages.calls), len(stages.changes)) == (MOST_CALLS, MOST_CHANGES), "there is a test for each call"


@pytest.mark.slow
@pytest.mark.parametrize("number", range(MOST_CALLS))
def test_a_move_that_dies_before_a_call_and_is_repeated_runs_each_run_once(stages: TwoStages, number: int) -> None:
    stages.dies_at = number
    move_twice(stages)


@pytest.mark.parametrize("number", range(MOST_CHANGES))
def test_a_move_that_loses_a_reply_and_is_repeated_runs_each_run_once(stages: TwoStages, number: int) -> None:
    stages.loses = number
    move_twice(stages)


def move_twice(stages: TwoStages) -> None:
    began = stages.clock.now()
    jobs = a_busy_stage(stages)
    stages.let_pass(2)
    with pytest.raises(Crash):
        stages.move()
    stages.let_pass(3)
    if not stages.file.exists():
        stages.command("export", "--freeze", "--with-secrets", "--force", str(stages.file))
    stages.command("import", "--release", str(stages.file))
    stages.let_pass((began + 200_000 - stages.clock.now()) / 1000)
    assert_each_ran_once(stages, jobs)


class HalfStore:
    """A store that stores one half of a batch, and dies."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        self._store.create_many(records[: len(records) // 2], deadline)
        raise Crash("half of a batch is stored")


def test_an_import_that_dies_within_a_page_is_repeated(stages: TwoStages) -> None:
    began = stages.clock.now()
    jobs = a_busy_stage(stages)
    stages.let_pass(2)
    stages.command("export", "--freeze", str(stages.file))
    world = stages.destination.world
    stages.destination.world = replace(world, store=cast(Any, HalfStore(world.store)))
    with pytest.raises(Crash):
        stages.command("import", "--release", str(stages.file))
    stages.destination.world = world
    stages.command("import", "--release", str(stages.file))
    stages.let_pass((began + 200_000 - stages.clock.now()) / 1000)
    assert_each_ran_once(stages, jobs)
