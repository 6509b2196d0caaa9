"""A job with very many children: refused by name, also by the write itself, and notified step by step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from onthedot.core.choices import MAX_JOBS
from onthedot.core.errors import InvalidRequest
from onthedot.core.moves import Expect, Move
from onthedot.core.ports import Deadline, Moved, RunStore
from onthedot.core.records import Record, Status
from onthedot.jobs.submit import accept_batch, accept_job
from onthedot.workflows.dependencies import MOST_CHILDREN
from onthedot.workflows.notify import link_to_parents
from tests.builders import World
from tests.scenarios.kits.family import Family
from tests.scenarios.kits.faults import Fault, Faults

FULL = "1,000 jobs wait for it already"


def with_children(family: Family, parent: Record, number: int) -> list[str]:
    """Record so many children in the parent, in one write."""
    ids = [f"job_{n:026}" for n in range(number)]
    move = Move(
        parent.run_id,
        Expect(frozenset({parent.status})),
        parent.status,
        {},
        increments={"dependents": number},
        adds={"children": frozenset(ids)},
    )
    assert isinstance(family.world.store.move(move), Moved)
    return ids


def refusals(answers: Sequence[Record | Exception]) -> list[str]:
    return [str(answer) for answer in answers if isinstance(answer, InvalidRequest)]


def test_the_next_child_is_refused_by_name_with_advice(world: World) -> None:
    family = Family(world)
    other, parent = family.job(delay_s=3600), family.job(delay_s=3600)
    with_children(family, parent, MOST_CHILDREN - 1)
    last = family.job(other, parent, key="last")
    with pytest.raises(InvalidRequest, match=rf"dependencies\.1: has no room: {FULL}; let some of them wait for a"):
        family.job(other, parent)
    assert len(family.stored(parent).children) == MOST_CHILDREN
    assert len(family.stored(other).children) == 1, "the refused child is linked nowhere"
    repeated = accept_job(world.engine, "acme", family.request(other, parent, key="last"), world.clock.now())
    assert repeated.run_id == last.run_id, "a repeated request gets the answer of the first"


def test_a_parent_that_has_ended_keeps_no_more_children_and_refuses_none(world: World) -> None:
    family = Family(world)
    parent = family.job()
    with_children(family, parent, MOST_CHILDREN)
    family.let_pass(5)
    child = family.job(parent)
    family.let_pass(5)
    assert family.status(child) is Status.SUCCEEDED


def test_a_batch_counts_its_own_jobs(world: World) -> None:
    family = Family(world)
    parent = family.job(delay_s=3600)
    with_children(family, parent, MOST_CHILDREN - 3)
    requests = [family.request(parent, key=key) for key in ("a", "b", "a", "c", "d", "e")]
    answers = accept_batch(world.engine, "acme", requests, world.clock.now())
    assert [isinstance(answer, Record) for answer in answers] == [True, True, True, True, False, False]
    assert all(refusal.startswith(f"dependencies.0: has no room: {FULL}") for refusal in refusals(answers))
    assert len(family.stored(parent).children) == MOST_CHILDREN
    again = accept_batch(world.engine, "acme", requests[:4], world.clock.now())
    assert all(isinstance(answer, Record) for answer in again), "they wait for it already"


def test_a_batch_reads_its_parents_once(world: World) -> None:
    family = Family(world)
    parents = [family.job(delay_s=3600) for _ in range(2)]
    counting = CountingStore(world.store)
    engine = replace(world.engine, store=counting)  # type: ignore[arg-type]
    accept_batch(engine, "acme", [family.request(*parents) for _ in range(20)], world.clock.now())
    assert counting.reads == 1


def test_a_workflow_cannot_have_a_job_with_too_many_children() -> None:
    assert MAX_JOBS - 1 <= MOST_CHILDREN, "else the check of a graph must refuse such a job by its key"


def test_a_child_that_lost_the_race_for_the_last_place_fails_with_the_reason(world: World) -> None:
    family = Family(world)
    parent = family.job(delay_s=3600)
    with_children(family, parent, MOST_CHILDREN - 1)
    late = family.job(parent, faults=Faults(1, Fault.MEANWHILE, lambda: family.job(parent)))
    assert len(family.stored(parent).children) == MOST_CHILDREN, "the write itself keeps the bound"
    assert late.run_id not in family.stored(parent).children
    assert (late.status, late.slot, late.waits_for) == (Status.FAILED, None, frozenset())
    assert FULL in (late.reason or "")
    assert parent.run_id in (late.reason or "")
    assert late.run_id in {run.run_id for run in world.store.failed("acme", 10).items}


def test_the_children_of_a_child_that_found_no_room_end_with_it(world: World) -> None:
    family = Family(world)
    parent = family.job(delay_s=3600)
    with_children(family, parent, MOST_CHILDREN - 1)
    grandchildren: list[Record] = []

    def meanwhile() -> None:
        family.job(parent)
        (late,) = [run for run in all_runs(world) if run.status is Status.WAITING and not is_linked(family, run)]
        grandchildren.append(family.job(late))

    family.job(parent, faults=Faults(1, Fault.MEANWHILE, meanwhile))
    family.let_pass(5)
    (grandchild,) = grandchildren
    assert family.status(grandchild) is Status.FAILED
    assert FULL in (family.stored(grandchild).reason or "")


def test_linking_twice_counts_a_child_once(world: World) -> None:
    family = Family(world)
    parent = family.job(delay_s=3600)
    child = family.job(parent)
    link_to_parents(world.engine, child)
    assert family.stored(parent).dependents == 1


def test_a_reply_that_was_lost_at_the_last_place_is_no_refusal(world: World) -> None:
    family = Family(world)
    parent = family.job(delay_s=3600)
    with_children(family, parent, MOST_CHILDREN - 1)
    child = family.job(parent, faults=Faults(1, Fault.LOST_REPLY))
    assert (child.status, child.run_id in family.stored(parent).children) == (Status.WAITING, True)


def all_runs(world: World) -> list[Record]:
    with world.database.transaction() as connection:
        ids = [run_id for (run_id,) in connection.execute("SELECT run_id FROM runs")]
    return [run for run in map(world.store.get, ids) if run is not None]


def is_linked(family: Family, child: Record) -> bool:
    return all(child.run_id in (family.world.store.get(parent) or child).children for parent in child.parents)


@dataclass
class CountingStore:
    """A store that counts its batch reads."""

    inner: RunStore
    reads: int = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> object:
        self.reads += 1
        return self.inner.get_many(run_ids, deadline)
