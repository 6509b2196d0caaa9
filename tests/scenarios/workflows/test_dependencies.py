"""Jobs that wait for others: released, failed, skipped, told late, told twice, and never forgotten."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core.choices import OnParentFailure, Priority
from onthedot.core.errors import InvalidRequest, Unavailable
from onthedot.core.ids import job_id_for_key
from onthedot.core.moves import Expect, Move
from onthedot.core.records import Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.jobs.change import cancel_job, change_job, delete_job, pause_job
from onthedot.jobs.changes import JobChange
from tests.builders import World, a_world
from tests.scenarios.kits.family import Family
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.one_off.test_crash_points import each_point

RUN, SKIP, FAIL = OnParentFailure.RUN, OnParentFailure.SKIP, OnParentFailure.FAIL


def test_a_child_waits_outside_every_slot_and_runs_when_its_parent_has_ended(world: World) -> None:
    family = Family(world)
    parent = family.job(delay_s=30)
    child = family.job(parent)
    assert (child.status, child.slot, child.waits_for) == (Status.WAITING, None, frozenset({parent.run_id}))
    family.let_pass(29)
    assert family.status(child) is Status.WAITING
    family.let_pass(2)
    assert family.fates.started[child.run_id][0] <= parent.fire_time + 1000, "at the next look"
    family.check_promises([parent, child])


def test_a_diamond_runs_its_end_once_after_both_sides(world: World) -> None:
    family = Family(world)
    top = family.job(delay_s=5)
    sides = [family.job(top), family.job(top, delay_s=60)]
    bottom = family.job(*sides)
    family.let_pass(120)
    assert len(family.fates.started[bottom.run_id]) == 1
    family.check_promises([top, *sides, bottom])


@pytest.mark.parametrize(("policy", "ends"), [(FAIL, Status.FAILED), (SKIP, Status.SKIPPED), (RUN, Status.SUCCEEDED)])
def test_a_failed_parent_spreads_as_each_child_wishes(world: World, policy: OnParentFailure, ends: Status) -> None:
    family = Family(world)
    parent = family.job(doomed=True, delay_s=5)
    child = family.job(parent, policy=policy)
    grandchild = family.job(child)
    family.let_pass(30)
    assert family.status(child) is ends
    assert family.status(grandchild) is (Status.SUCCEEDED if policy is RUN else Status.FAILED)
    if policy is not RUN:
        assert "broken" in (family.stored(child).reason or "")
        assert child.run_id in (family.stored(grandchild).reason or "")
        assert child.run_id in {run.run_id for run in world.store.failed("acme", 10).items} or ends is Status.SKIPPED
    family.check_promises([parent, child, grandchild])


@pytest.mark.parametrize("how", ["cancel", "delete"])
@pytest.mark.parametrize("policy", [FAIL, SKIP, RUN])
def test_a_parent_that_is_stopped_gives_its_children_an_explicit_end(
    world: World, how: str, policy: OnParentFailure
) -> None:
    family = Family(world)
    parent = family.job(delay_s=3600)
    child = family.job(parent, policy=policy)
    grandchild = family.job(child)
    (cancel_job if how == "cancel" else delete_job)(world.engine, "acme", parent.run_id)
    family.let_pass(30)
    family.check_promises([parent, child, grandchild])


def test_a_parent_that_ended_before_counts_at_once(world: World) -> None:
    family = Family(world)
    good, bad = family.job(), family.job(doomed=True)
    family.let_pass(5)
    runs = [
        family.job(good),
        family.job(bad),
        family.job(good, bad, policy=RUN),
        family.job(good, bad, policy=SKIP),
    ]
    family.let_pass(5)
    expected = [Status.SUCCEEDED, Status.FAILED, Status.SUCCEEDED, Status.SKIPPED]
    assert family.statuses(runs) == expected
    family.check_promises([good, bad, *runs])


def test_a_child_has_its_own_time_too(world: World) -> None:
    family = Family(world)
    parent = family.job(delay_s=5)
    child = family.job(parent, delay_s=600)
    family.let_pass(700)
    assert family.fates.started[child.run_id] == [child.fire_time]


def test_a_child_that_is_cancelled_deleted_or_changed_while_it_waits(world: World) -> None:
    family = Family(world)
    parent = family.job(delay_s=60)
    cancelled, deleted, changed = (family.job(parent) for _ in range(3))
    cancel_job(world.engine, "acme", cancelled.run_id)
    delete_job(world.engine, "acme", deleted.run_id)
    change_job(world.engine, "acme", changed.run_id, lambda job, now: JobChange(priority=Priority.HIGH), None)
    family.let_pass(120)
    assert family.statuses([cancelled, deleted, changed]) == [Status.CANCELLED, Status.DELETED, Status.SUCCEEDED]
    assert family.stored(changed).priority is Priority.HIGH
    assert family.fates.started[cancelled.run_id] == []


def test_a_paused_parent_keeps_its_children_waiting(world: World) -> None:
    family = Family(world)
    parent = family.job(delay_s=60)
    child = family.job(parent)
    pause_job(world.engine, "acme", parent.run_id)
    family.let_pass(600)
    assert family.status(child) is Status.WAITING


def test_parents_that_cannot_be_waited_for_are_refused_by_name(world: World) -> None:
    family = Family(world)
    foreign = replace(family.job(delay_s=60), run_id="job_nobody")
    with pytest.raises(InvalidRequest, match=r"dependencies\.1: there is no such job"):
        family.job(family.job(), foreign)
    itself = replace(foreign, run_id=job_id_for_key("acme", "k"))
    with pytest.raises(InvalidRequest, match="job itself"):
        family.job(itself, key="k")


# --- crash points


@each_point(4)
def test_a_submit_that_dies_strands_no_child(world: World, at: int, fault: Fault) -> None:
    """Its effects: create, one parent told, the other told, and that all know."""
    family = Family(world)
    parents = [family.job(delay_s=30), family.job(delay_s=90)]
    faults = Faults(at, fault)
    with suppress(Crash, Unavailable):
        family.job(*parents, key="child", faults=faults)
    assert len(faults.seen) > at, "the fault was never reached"
    child = family.job(*parents, key="child")  # the client tries again
    family.let_pass(600)
    family.check_promises([*parents, child])


@pytest.mark.slow
@each_point(6)
@pytest.mark.parametrize("doomed", [False, True])
def test_a_worker_that_dies_on_the_way_to_the_children_strands_none(
    world: World, at: int, fault: Fault, doomed: bool
) -> None:
    """Start, finish, then for each child: told, let go, sent; and that all know."""
    family = Family(world)
    parent = family.job(delay_s=2, doomed=doomed)
    children = [family.job(parent), family.job(parent, policy=RUN)]
    grandchild = family.job(*children)
    family.clock.advance(2)
    faults = Faults(at, fault)
    family.work(faults)
    assert len(faults.seen) > at, "the fault was never reached"
    family.let_pass(1_500)
    family.check_promises([parent, *children, grandchild])


@each_point(4)
@pytest.mark.parametrize("how", ["cancel", "delete"])
def test_a_stop_that_dies_on_the_way_to_the_children_strands_none(
    world: World, at: int, fault: Fault, how: str
) -> None:
    family = Family(world)
    parent = family.job(delay_s=3600)
    child = family.job(parent)
    grandchild = family.job(child)
    faults = Faults(at, fault)
    stop = cancel_job if how == "cancel" else delete_job
    with suppress(Crash, Unavailable):
        stop(family.engine(faults), "acme", parent.run_id)
    assert len(faults.seen) > at, "the fault was never reached"
    with suppress(Exception):
        stop(world.engine, "acme", parent.run_id)  # the user tries again
    family.let_pass(600)
    family.check_promises([parent, child, grandchild])


@each_point(6)
def test_a_sweep_that_ends_a_parent_and_dies_on_the_way_to_the_children_strands_none(
    world: World, at: int, fault: Fault
) -> None:
    """Its effects: the parent's fifth loss, each child told, that all know, and the progress."""
    family = Family(world)
    parent = family.job(delay_s=2)
    children = [family.job(parent), family.job(parent, policy=RUN)]
    grandchild = family.job(children[0], policy=SKIP)
    family.clock.advance(2)
    family.work(Faults(1, Fault.CRASH_BEFORE))  # its worker dies in the middle
    running = family.stored(parent)
    attempt = {"attempt_token": running.attempt_token}
    world.store.move(Move(parent.run_id, Expect(frozenset({Status.RUNNING}), attempt), Status.RUNNING, {"losses": 4}))
    world.queues.purge(DEFAULT_POOL, Priority.MEDIUM)  # only the sweep can find it
    family.fates.doomed.add(parent.run_id)
    family.clock.advance(240)
    family.plan_ticks()
    faults = Faults(at, fault)
    family.dispatch(faults)
    assert len(faults.seen) > at, "the fault was never reached"
    family.let_pass(900)
    assert "5 attempts were lost" in (family.stored(parent).reason or "")
    family.check_promises([parent, *children, grandchild])


def test_a_child_that_comes_just_before_its_parents_finish_is_not_forgotten(world: World) -> None:
    family = Family(world)
    parent = family.job(delay_s=2)
    family.clock.advance(2)
    late: list[Record] = []
    family.work(Faults(1, Fault.MEANWHILE, meanwhile=lambda: late.append(family.job(parent))))
    assert late, "the finish was never reached"
    family.let_pass(60)
    family.check_promises([parent, *late])
    assert len(family.fates.started[parent.run_id]) == 1


# --- any graph, any fate, any crash


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[list[int], OnParentFailure, bool]]:
    """For each job the earlier ones it waits for, its policy, and whether it is doomed."""
    count = draw(st.integers(2, 9))
    return [
        (
            sorted(draw(st.sets(st.integers(0, n - 1), max_size=3))) if n else [],
            draw(st.sampled_from(OnParentFailure)),
            draw(st.booleans()),
        )
        for n in range(count)
    ]


moments = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from([f for f in Fault if f is not Fault.MEANWHILE])), max_size=6
)


@pytest.mark.slow
@settings(max_examples=60)
@given(graphs(), moments)
def test_every_job_of_any_graph_ends_in_one_explained_state_whatever_crashes(
    graph: list[tuple[list[int], OnParentFailure, bool]], crashes: list[tuple[int, Fault]]
) -> None:
    with a_world() as world:
        family = Family(world)
        runs: list[Record] = []
        for parents, policy, doomed in graph:
            runs.append(family.job(*(runs[n] for n in parents), policy=policy, doomed=doomed, delay_s=5))
        family.clock.advance(5)
        for at, fault in crashes:
            family.work(Faults(at, fault))
            family.clock.advance(20)
            family.plan_ticks()
            family.dispatch(Faults(at, fault))
        family.let_pass(2_400)
        family.check_promises(runs)
