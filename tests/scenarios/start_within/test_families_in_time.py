"""Parents, children and jobs of workflows that must start within a time."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from onthedot.core.choices import OnParentFailure
from onthedot.core.records import Record, Status
from onthedot.core.send import message_for
from onthedot.core.start import start_run
from onthedot.jobs.submit import submit_job
from tests.builders import World, a_world
from tests.scenarios.kits.faults import Fault, Faults
from tests.scenarios.kits.start_within import JUST_LATE, WHY, WITHIN, assert_skipped
from tests.scenarios.kits.workflows import Clan, a_member
from tests.scenarios.one_off.test_crash_points import each_point

EFFECTS_OF_LATE_PARENT = 4


@pytest.fixture
def clan() -> Iterator[Clan]:
    with a_world() as world:
        yield Clan(world)


def a_job(
    clan: Clan, *parents: Record, within: int | None = WITHIN, policy: OnParentFailure = OnParentFailure.FAIL
) -> Record:
    request = replace(clan.request(*parents, policy=policy), record={"start_within_seconds": within})
    return submit_job(clan.world.engine, "acme", request)


def test_the_children_of_a_run_that_is_too_late_are_notified(clan: Clan) -> None:
    parent = a_job(clan)
    fails = clan.job(parent)
    skipped = clan.job(parent, policy=OnParentFailure.SKIP)
    runs = clan.job(parent, policy=OnParentFailure.RUN)
    clan.clock.advance(JUST_LATE)
    clan.let_pass(5)
    assert_skipped(clan, parent)
    assert clan.statuses([fails, skipped, runs]) == [Status.FAILED, Status.SKIPPED, Status.SUCCEEDED]
    assert WHY in (clan.stored(fails).reason or "")


def test_the_children_of_a_run_that_the_sweep_ends_are_notified(clan: Clan) -> None:
    parent = a_job(clan)
    child = clan.job(parent, policy=OnParentFailure.RUN)
    clan.world.queues.purge(parent.pool, parent.priority)
    clan.let_pass(300)
    assert clan.counts["expired"] == 1
    assert_skipped(clan, parent)
    assert clan.status(child) is Status.SUCCEEDED


def test_the_effects_of_a_late_parent_are_all_known(clan: Clan) -> None:
    parent = a_job(clan)
    clan.job(parent, policy=OnParentFailure.RUN)
    clan.clock.advance(JUST_LATE)
    counted = Faults()
    clan.work(counted)
    assert len(counted.seen) == EFFECTS_OF_LATE_PARENT + 1, counted.seen


@each_point(EFFECTS_OF_LATE_PARENT)
def test_a_worker_that_dies_at_a_late_parent_leaves_no_child_waiting(world: World, at: int, fault: Fault) -> None:
    clan = Clan(world)
    parent = a_job(clan)
    child = clan.job(parent, policy=OnParentFailure.RUN)
    clan.clock.advance(JUST_LATE)
    faults = Faults(at, fault)
    clan.work(faults)
    assert len(faults.seen) > at, "the fault was never reached"
    clan.let_pass(600)
    assert_skipped(clan, parent)
    assert clan.status(child) is Status.SUCCEEDED
    assert len(clan.fates.started[child.run_id]) == 1


@pytest.mark.parametrize("seconds", [WITHIN, JUST_LATE])
def test_a_child_counts_from_the_end_of_its_parents(clan: Clan, seconds: float) -> None:
    parent = clan.job(delay_s=200)
    child = a_job(clan, parent)
    assert clan.stored(child).start_by is None
    clan.clock.advance(200)
    clan.work()  # ends the parent, and sends the child
    clan.clock.advance(seconds)
    clan.work()
    if seconds == WITHIN:
        assert clan.status(child) is Status.SUCCEEDED
    else:
        assert_skipped(clan, child)


def test_jobs_of_a_workflow_have_their_own_limits(clan: Clan) -> None:
    members = (
        a_member("root", record={"start_within_seconds": WITHIN}),
        a_member("free"),
        a_member("child", "free", record={"start_within_seconds": WITHIN}),
        a_member("last", "root", policy=OnParentFailure.RUN),
    )
    workflow = clan.workflow(members)
    clan.work()  # makes the graph
    jobs = clan.jobs_of(workflow, members)
    now = clan.clock.now()
    assert {key: job.start_by for key, job in jobs.items()} == {
        "root": now + WITHIN * 1000,
        "free": None,
        "child": None,
        "last": None,
    }
    clan.clock.advance(JUST_LATE)
    clan.let_pass(5)
    assert_skipped(clan, jobs["root"])
    assert clan.states(workflow, members) == {
        "root": Status.SKIPPED,
        "free": Status.SUCCEEDED,
        "child": Status.SUCCEEDED,
        "last": Status.SUCCEEDED,
    }


def test_a_workflow_that_is_too_late_makes_no_graph(clan: Clan) -> None:
    members = (a_member("only"),)
    workflow = clan.workflow(members, within=WITHIN)
    clan.clock.advance(JUST_LATE)
    clan.let_pass(5)
    assert (clan.stored(workflow).status, clan.stored(workflow).reason) == (Status.SKIPPED, WHY)
    assert clan.jobs_of(workflow, members) == {}


def test_a_child_that_is_added_just_before_its_parent_ends_is_notified_too(clan: Clan) -> None:
    parent = a_job(clan)
    clan.clock.advance(JUST_LATE)
    children: list[Record] = []
    faults = Faults(0, Fault.MEANWHILE, lambda: children.append(clan.job(parent, policy=OnParentFailure.RUN)))
    start_run(clan.engine(faults), message_for(parent), "w")
    assert clan.status(parent) is Status.SKIPPED
    clan.let_pass(5)
    assert clan.statuses(children) == [Status.SUCCEEDED]
