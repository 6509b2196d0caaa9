"""A job with very many children: refused by name, also by the write itself, and notified step by step."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from onthedot.domain.errors import InvalidRequest, OnthedotError, Unavailable
from onthedot.domain.runs import changes
from onthedot.domain.runs.dependencies import MOST_CHILDREN
from onthedot.domain.runs.moves import Expect, Move
from onthedot.domain.runs.records import Record, Status
from onthedot.domain.runs.slots import bucket_of
from onthedot.domain.workflows.graph import MAX_JOBS
from onthedot.ports import Deadline, Engine, Moved, Refused, RunStore
from onthedot.use_cases.jobs.accept_jobs import accept_batch, accept_job
from onthedot.use_cases.workflows.notify_children import MANY, link_to_parents, notify_children
from tests.builders import World, a_world
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


def refusals(answers: Sequence[Record | OnthedotError]) -> list[str]:
    return [str(answer) for answer in answers if isinstance(answer, InvalidRequest)]


def test_the_next_child_is_refused_by_name_with_advice() -> None:
    with a_world() as world:
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


def test_a_parent_that_has_ended_keeps_no_more_children_and_refuses_none() -> None:
    with a_world() as world:
        family = Family(world)
        parent = family.job()
        with_children(family, parent, MOST_CHILDREN)
        family.let_pass(5)
        child = family.job(parent)
        family.let_pass(5)
        assert family.status(child) is Status.SUCCEEDED


def test_a_batch_counts_its_own_jobs() -> None:
    with a_world() as world:
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


def test_a_batch_reads_its_parents_once() -> None:
    with a_world() as world:
        family = Family(world)
        parents = [family.job(delay_s=3600) for _ in range(2)]
        counting = CountingStore(world.store)
        engine = replace(world.engine, store=counting)  # type: ignore[arg-type]
        accept_batch(engine, "acme", [family.request(*parents) for _ in range(20)], world.clock.now())
        assert counting.reads == 1


def test_a_workflow_cannot_have_a_job_with_too_many_children() -> None:
    assert MAX_JOBS - 1 <= MOST_CHILDREN, "else the check of a graph must refuse such a job by its key"


def test_a_child_that_lost_the_race_for_the_last_place_fails_with_the_reason() -> None:
    with a_world() as world:
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


def test_the_children_of_a_child_that_found_no_room_end_with_it() -> None:
    with a_world() as world:
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


def test_linking_twice_counts_a_child_once() -> None:
    with a_world() as world:
        family = Family(world)
        parent = family.job(delay_s=3600)
        child = family.job(parent)
        link_to_parents(world.engine, child)
        assert family.stored(parent).dependents == 1


def test_a_reply_that_was_lost_at_the_last_place_is_no_refusal() -> None:
    with a_world() as world:
        family = Family(world)
        parent = family.job(delay_s=3600)
        with_children(family, parent, MOST_CHILDREN - 1)
        child = family.job(parent, faults=Faults(1, Fault.LOST_REPLY))
        assert (child.status, child.run_id in family.stored(parent).children) == (Status.WAITING, True)


@dataclass
class HardStore:
    """A store in which every move takes time, and moves of chosen records fail."""

    world: World
    move_s: float = 0
    errors: dict[str, OnthedotError] = field(default_factory=dict)
    moved: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> object:
        return getattr(self.world.store, name)

    def move(self, move: Move) -> Moved | Refused:
        self.moved.append(move.run_id)
        self.world.clock.advance(self.move_s)
        if move.run_id in self.errors:
            raise self.errors[move.run_id]
        return self.world.store.move(move)


def an_ended_parent(family: Family, number: int) -> tuple[Record, list[Record]]:
    """A run that ended and has notified none of its children."""
    parent = family.job(delay_s=3600)
    children = [family.job(parent) for _ in range(number)]
    cancelled = changes.cancel(family.stored(parent), family.world.clock.now(), family.world.engine.deployment)
    assert cancelled is not None
    assert isinstance(family.world.store.move(cancelled), Moved)
    return family.stored(parent), children


def on(world: World, store: HardStore) -> Engine:
    return replace(world.engine, store=store)  # type: ignore[arg-type]


def test_notifying_stops_at_the_deadline_and_the_next_try_goes_on_there() -> None:
    with a_world() as world:
        family = Family(world)
        parent, children = an_ended_parent(family, MANY + 20)
        store = HardStore(world, move_s=0.1)
        assert notify_children(on(world, store), parent, Deadline.after(world.clock.now(), 5_000)) is False
        assert len(store.moved) <= 51, "it looks at the deadline before each child"
        assert family.stored(parent).notify_pending == 1
        first = set(store.moved)
        store.moved.clear()
        assert notify_children(on(world, store), parent, Deadline.after(world.clock.now(), 60_000)) is True
        assert not first & set(store.moved), "it begins with the children that are left"
        assert family.stored(parent).notify_pending is None
        assert {family.status(child) for child in children} == {Status.FAILED}


def test_a_child_that_the_store_cannot_reach_stops_no_other() -> None:
    with a_world() as world:
        family = Family(world)
        parent, children = an_ended_parent(family, 5)
        first = min(child.run_id for child in children)
        store = HardStore(world, errors={first: Unavailable("throttled")})
        with pytest.raises(Unavailable, match="throttled"):
            notify_children(on(world, store), parent)
        assert sorted(family.statuses(children)) == [*[Status.FAILED] * 4, Status.WAITING]
        assert family.stored(parent).notify_pending == 1
        assert family.stored(parent).slot == parent.slot, "the sweep tries again"
        family.let_pass(300)
        family.check_promises([parent, *children])


def test_a_child_that_cannot_be_read_is_tried_again_an_hour_later() -> None:
    with a_world() as world:
        family = Family(world)
        parent, children = an_ended_parent(family, 5)
        first = min(child.run_id for child in children)
        store = HardStore(world, errors={first: OnthedotError("it has format 2")})
        assert notify_children(on(world, store), parent) is True, "nothing is left in this slot"
        assert sorted(family.statuses(children)) == [*[Status.FAILED] * 4, Status.WAITING]
        assert (
            family.stored(parent).slot == f"{str(parent.slot).rpartition('#')[0]}#{bucket_of(world.clock.now()) + 62}"
        )
        family.let_pass(3600 + 300)
        family.check_promises([parent, *children])


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
