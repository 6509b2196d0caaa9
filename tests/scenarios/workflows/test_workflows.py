"""Workflows in simulated time: made whole, made again, not made at all; and nothing waits forever."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.core import lifecycle
from onthedot.core.choices import OnParentFailure
from onthedot.core.claim import Pass
from onthedot.core.errors import Unavailable
from onthedot.core.ids import node_job_id
from onthedot.core.payloads import load_payload
from onthedot.core.ports import Answer, Call, Deadline, Refused, Tick
from onthedot.core.records import TERMINAL, Record, Status
from onthedot.core.slots import Deployment
from onthedot.core.sweep import sweep_slot
from onthedot.jobs.change import cancel_job, delete_job, pause_job
from onthedot.jobs.redrive import redrive
from onthedot.schedules.schedule import Recurrence, Schedule, every
from onthedot.workflows.members import Member
from onthedot.workflows.start import WorkflowStarter
from tests.builders import World, a_world
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.kits.workflows import DIAMOND, Clan, a_member
from tests.scenarios.one_off.test_crash_points import each_point

ONE_SHARD = Deployment(shards=1, lookahead=3, history_days=7)
RUN, SKIP = OnParentFailure.RUN, OnParentFailure.SKIP
BROKEN = Answer(ok=False, error="the store is on fire", retryable=False)
AWAY = Answer(ok=False, error="the store is away")
EFFECTS_OF_MAKING = 5
"""Start, the waiting jobs, the roots, the messages of the roots, finish."""


def test_a_diamond_is_made_when_it_is_due_and_runs_in_order(world: World) -> None:
    clan = Clan(world)
    workflow = clan.workflow(DIAMOND, delay_s=30)
    clan.let_pass(29)
    assert clan.jobs_of(workflow, DIAMOND) == {}
    clan.let_pass(10)
    clan.check_graph(workflow, DIAMOND)
    assert set(clan.states(workflow, DIAMOND).values()) == {Status.SUCCEEDED}
    assert clan.status(workflow) is Status.SUCCEEDED
    assert [len(times) for times in clan.fates.started.values()] == [1, 1, 1, 1]


def test_a_fan_out_of_a_hundred_and_back_in() -> None:
    sides = [a_member(f"n{n}", "start") for n in range(100)]
    members = [a_member("start"), *sides, a_member("end", *(side.key for side in sides))]
    with a_world() as world:
        clan = Clan(world)
        workflow = clan.workflow(members)
        clan.let_pass(60)
        clan.check_graph(workflow, members)
        assert set(clan.states(workflow, members).values()) == {Status.SUCCEEDED}


def test_a_job_of_a_workflow_has_its_own_time_too() -> None:
    members = [a_member("a"), a_member("b", "a", delay_ms=600_000), a_member("c", delay_ms=700_000)]
    with a_world() as world:
        clan = Clan(world)
        workflow = clan.workflow(members)
        clan.let_pass(800)
        jobs = clan.jobs_of(workflow, members)
        for key, seconds in (("b", 600), ("c", 700)):
            assert clan.fates.started[jobs[key].run_id] == [workflow.fire_time + seconds * 1000]


# --- made in spite of everything


def test_the_effects_of_making_are_all_known() -> None:
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        clan.workflow(DIAMOND)
        counted = Faults()
        clan.work(counted)
        assert counted.seen == ["move to RUNNING", "create_many", "create_many", "send", "move to SUCCEEDED"]


@pytest.mark.slow
@each_point(EFFECTS_OF_MAKING)
@pytest.mark.parametrize("recurs", [False, True])
def test_a_maker_that_dies_leaves_a_graph_that_another_one_completes(at: int, fault: Fault, recurs: bool) -> None:
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        recurrence = Recurrence(Schedule(every(3600, clan.clock.now(), None)), max_runs=1) if recurs else None
        job = clan.workflow(DIAMOND, recurrence=recurrence)
        run = job
        if recurs:
            clan.clock.advance(3599)
            clan.plan_ticks()
            clan.dispatch()
            clan.clock.advance(1)
            (run,) = world.store.runs_of(job.run_id, 20).items
        faults = Faults(at, fault)
        clan.work(faults)
        assert len(faults.seen) > at, "the fault was never reached"
        clan.let_pass(1_500)
        assert clan.status(run) is Status.SUCCEEDED
        clan.check_graph(run, DIAMOND)


def test_making_that_is_tried_again_goes_on_where_it_stopped() -> None:
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        workflow = clan.workflow(DIAMOND)
        clan.work(Faults(2, Fault.AWAY))
        waiting = clan.jobs_of(workflow, DIAMOND)
        assert set(waiting) == {"left", "right", "bottom"}, "those that wait are there, and nothing runs"
        assert (clan.stored(workflow).failures, clan.stored(workflow).attempt) == (0, 1)
        clan.let_pass(60)
        clan.check_graph(workflow, DIAMOND)
        made = clan.jobs_of(workflow, DIAMOND)
        assert all(made[key].created_at == job.created_at for key, job in waiting.items()), "none was made twice"


# --- not made


def half_made(clan: Clan, *refusals: Answer) -> Record:
    """A workflow whose waiting jobs are there and whose first are not, tried again with these answers."""
    workflow = clan.workflow(DIAMOND)
    clan.work(Faults(2, Fault.AWAY))
    assert set(clan.states(workflow, DIAMOND).values()) == {Status.WAITING}
    clan.refusals += refusals
    return workflow


def test_making_that_fails_for_good_ends_the_jobs_that_exist_and_those_that_do_not() -> None:
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        workflow = half_made(clan, BROKEN)
        clan.let_pass(60)
        assert clan.status(workflow) is Status.FAILED
        clan.check_given_up(workflow, DIAMOND)
        assert set(clan.states(workflow, DIAMOND).values()) == {Status.FAILED}
        assert "on fire" in (clan.jobs_of(workflow, DIAMOND)["bottom"].reason or "")
        assert not clan.fates.started


def test_all_tries_may_fail() -> None:
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        workflow = half_made(clan, *[AWAY] * 20)
        clan.let_pass(1_200)
        assert clan.status(workflow) is Status.FAILED
        clan.check_given_up(workflow, DIAMOND)


@pytest.mark.slow
@each_point(6)
def test_whoever_dies_while_it_ends_the_jobs_strands_none(at: int, fault: Fault) -> None:
    """Start, finish, the missing ones stored as ended, the others ended, and what follows from that."""
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        workflow = half_made(clan, BROKEN, BROKEN)  # one that dies before it says so tries again
        clan.clock.advance(4)
        faults = Faults(at, fault)
        clan.work(faults)
        assert len(faults.seen) > at, "the fault was never reached"
        clan.let_pass(1_500)
        clan.check_given_up(workflow, DIAMOND)


def test_a_workflow_that_is_cancelled_while_it_is_made_starts_no_job() -> None:
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        workflow = clan.workflow(DIAMOND)

        def cancelled() -> None:
            cancel_job(world.engine, "acme", workflow.run_id)

        clan.work(Faults(0, Fault.MEANWHILE, cancelled, named="create_many"))
        clan.let_pass(60)
        assert clan.status(workflow) is Status.CANCELLED
        assert clan.fates.started == {}
        clan.check_given_up(workflow, DIAMOND)


@pytest.mark.slow
@each_point(4)
@pytest.mark.parametrize("how", ["cancel", "delete"])
def test_a_stop_that_dies_before_all_jobs_have_ended_strands_none(at: int, fault: Fault, how: str) -> None:
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        workflow = half_made(clan)
        stop = cancel_job if how == "cancel" else delete_job
        faults = Faults(at, fault)
        with suppress(Crash, Unavailable):
            stop(clan.engine(faults), "acme", workflow.run_id)
        assert len(faults.seen) > at, "the fault was never reached"
        with suppress(Exception):
            stop(world.engine, "acme", workflow.run_id)  # the user tries again
        clan.let_pass(1_500)
        clan.check_given_up(workflow, DIAMOND)
        assert set(clan.states(workflow, DIAMOND).values()) == {Status.CANCELLED}


def test_jobs_outside_that_wait_for_a_job_of_the_graph_end_too() -> None:
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        workflow = half_made(clan, BROKEN)
        outside = clan.job(clan.jobs_of(workflow, DIAMOND)["bottom"])
        clan.let_pass(60)
        assert clan.status(outside) is Status.FAILED
        assert clan.stored(outside).notify_pending is None


def test_a_recurring_workflow_that_is_paused_in_the_middle_ends_what_it_made() -> None:
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        job = clan.workflow(DIAMOND, recurrence=Recurrence(Schedule(every(60, clan.clock.now(), None))))
        clan.let_pass(59)
        clan.refusals.append(AWAY)
        clan.clock.advance(1)
        clan.work()
        (run,) = [run for run in world.store.runs_of(job.run_id, 20).items if run.attempt]
        pause_job(world.engine, "acme", job.run_id)
        clan.let_pass(60)
        assert clan.status(run) is Status.SKIPPED
        clan.check_given_up(run, DIAMOND)


def test_a_maker_that_comes_too_late_makes_nothing_that_could_wait_for_ever() -> None:
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        workflow = clan.workflow(DIAMOND)
        clan.refusals.append(AWAY)
        clan.work()  # the first attempt made nothing so far, as if it hung
        stale = clan.stored(workflow)
        assert stale.definition is not None
        cancel_job(world.engine, "acme", workflow.run_id)
        call = Call(
            workflow.run_id, workflow.job_id, 1, 0, stale.definition, load_payload(world.blobs, stale.definition), 1000
        )
        assert not WorkflowStarter(world.engine).perform(call).ok
        clan.check_given_up(workflow, DIAMOND)
        # Even one that does not look finds every id taken.
        outcomes = world.store.create_many(list(clan.jobs_of(workflow, DIAMOND).values()), Deadline(2**60))
        assert all(isinstance(outcome, Refused) for outcome in outcomes)


def test_a_sweep_that_cannot_read_the_graph_asks_a_worker() -> None:
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        wide = [replace(one, definition=replace(one.definition, name="n" * 250)) for one in DIAMOND]
        workflow = clan.workflow(wide)
        clan.work(Faults(2, Fault.AWAY))
        stored = clan.stored(workflow)
        assert stored.definition is not None
        assert stored.definition.payload_ref is not None, "it is large"
        world.store.move(lifecycle.delete(stored, clan.clock.now(), "g", world.deployment))  # and then it dies
        slot = clan.stored(workflow).slot
        assert slot is not None
        clan.clock.advance(180)
        engine = clan.without_blobs()
        deadline = Deadline.after(clan.clock.now(), 10_000)
        now = clan.clock.now()
        assert not sweep_slot(Pass(engine, Tick(0, (0,), now), now, deadline, "tick"), slot)
        assert clan.stored(workflow).notify_pending, "nobody forgets it"
        clan.work()
        clan.check_given_up(workflow, wide)


def test_a_workflow_run_again_from_the_dead_letters_says_why_it_cannot() -> None:
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        workflow = half_made(clan, BROKEN)
        clan.let_pass(60)
        redrive(world.engine, "acme", [workflow.run_id])
        clan.let_pass(60)
        assert clan.status(workflow) is Status.FAILED
        assert "submit the workflow again" in (clan.stored(workflow).reason or "")
        clan.check_given_up(workflow, DIAMOND)


# --- any graph, any fate, any crash


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[Member, bool]]:
    """Jobs that wait for earlier ones, and whether each is doomed."""
    members = []
    for n in range(draw(st.integers(1, 8))):
        parents = sorted(draw(st.sets(st.integers(0, n - 1), max_size=3))) if n else []
        policy = draw(st.sampled_from(OnParentFailure)) if parents else OnParentFailure.FAIL
        members.append((a_member(f"n{n}", *(f"n{p}" for p in parents), policy=policy), draw(st.booleans())))
    return members


moments = st.lists(
    st.tuples(st.integers(0, 8), st.sampled_from([f for f in Fault if f is not Fault.MEANWHILE])), max_size=6
)


@pytest.mark.slow
@settings(max_examples=25)
@given(graphs(), moments, st.booleans())
def test_any_graph_is_made_whole_or_ended_whole_whatever_crashes(
    graph: list[tuple[Member, bool]], crashes: list[tuple[int, Fault]], stopped: bool
) -> None:
    members = [member for member, _ in graph]
    with a_world(ONE_SHARD) as world:
        clan = Clan(world)
        workflow = clan.workflow(members, doomed=[member.key for member, doomed in graph if doomed])
        for at, fault in crashes:
            clan.work(Faults(at, fault))
            clan.clock.advance(20)
            clan.plan_ticks()
            clan.dispatch(Faults(at, fault))
        if stopped:
            delete_job(world.engine, "acme", workflow.run_id)
        clan.let_pass(2_400)
        if not stopped:
            clan.check_graph(workflow, members)
            return
        assert clan.stored(workflow).notify_pending is None
        jobs = clan.jobs_of(workflow, members)
        assert all(job.status in TERMINAL and job.slot is None for job in jobs.values())
        assert len(jobs) in (0, len(members)), "all or none"
        assert all(node_job_id(workflow.run_id, key) == job.run_id for key, job in jobs.items())
