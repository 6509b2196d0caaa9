"""Events that jobs wait for: one run for each event and job, though processes die and events come again."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from onthedot.core.choices import OnParentFailure, Priority
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import gate_of_slot, queue_gate
from onthedot.core.ports import Answer
from onthedot.core.records import Definition, Kind, Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.events.handle import LEFT_OVER_MS
from onthedot.gates.waiting import flag_queue
from onthedot.jobs.change import cancel_job, change_job, delete_job, pause_job, resume_job
from onthedot.jobs.changes import JobChange
from onthedot.jobs.redrive import redrive
from onthedot.jobs.submit import JobRequest, submit_batch, submit_job
from onthedot.targets.types import HttpTarget
from tests.builders import NOON, World, a_world
from tests.scenarios.kits.eventful import MANY_KEYS, ORDERS, Eventful, an_event, with_detail
from tests.scenarios.kits.faults import Fault, Faults

SHIPPED = {"source": ["shop"], "detail-type": ["Order Shipped"]}


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def shop(world: World) -> Eventful:
    return Eventful(world)


def test_an_event_job_is_active_in_no_slot(shop: Eventful) -> None:
    job = shop.stored(shop.waiting_job())
    assert (job.kind, job.status, job.slot) == (Kind.EVENT, Status.ACTIVE, None)
    shop.let_pass(600)
    assert shop.runs_of(job) == []


def test_an_event_makes_one_run_of_each_job_that_it_matches(shop: Eventful) -> None:
    first, second, other = shop.waiting_job(), shop.waiting_job(MANY_KEYS), shop.waiting_job(SHIPPED)
    handled = shop.tell(an_event())
    assert len(handled.runs) == handled.made == 2
    shop.let_pass(1)
    for job in (first, second):
        (run,) = shop.runs_of(job)
        assert run.run_id in handled.runs
        assert (run.status, run.trigger, run.fire_time) == (Status.SUCCEEDED, "event", NOON - 1_000)
        assert shop.fired(job) == [run.run_id]
    assert shop.runs_of(other) == []


def test_a_run_is_given_the_event(shop: Eventful) -> None:
    shop.waiting_job()
    (run_id,) = shop.tell(an_event()).runs
    shop.let_pass(1)
    assert shop.target.payloads[run_id] == an_event().document


def test_a_job_that_picks_is_given_what_it_picked(shop: Eventful) -> None:
    shop.waiting_job(payload={"order": "$.detail.order.number", "sku": "$.detail.order.lines[1].sku", "price": "$$5"})
    (run_id,) = shop.tell(an_event()).runs
    shop.let_pass(1)
    assert shop.target.payloads[run_id] == {"order": 7, "sku": "b", "price": "$5"}


def test_large_templates_and_large_events_go_apart(shop: Eventful) -> None:
    whole, picking = shop.waiting_job(), shop.waiting_job(payload={"note": "n" * 3_000, "all": "$.detail"})
    other = shop.waiting_job()
    detail = {"text": "t" * 5_000}
    shop.tell(with_detail(an_event(), detail))
    shop.let_pass(1)
    runs = {job.job_id: shop.runs_of(job)[0] for job in (whole, picking, other)}
    assert {run.payload for run in runs.values()} == {None}
    assert runs[whole.job_id].payload_ref == runs[other.job_id].payload_ref
    assert shop.target.payloads[runs[whole.job_id].run_id]["detail"] == detail
    assert shop.target.payloads[runs[picking.job_id].run_id] == {"note": "n" * 3_000, "all": detail}


def test_a_payload_that_picks_too_much_is_skipped_with_its_reason_and_others_run(shop: Eventful) -> None:
    greedy, modest = shop.waiting_job(payload=["$"] * 50), shop.waiting_job()
    shop.tell(with_detail(an_event(), {"text": "t" * 100_000}))
    shop.let_pass(1)
    (skipped,), (run,) = shop.runs_of(greedy), shop.runs_of(modest)
    assert (skipped.status, run.status) == (Status.SKIPPED, Status.SUCCEEDED)
    assert "its payload would have" in (skipped.reason or "")
    assert skipped.slot is None
    assert skipped.expires_at is not None


def test_an_event_that_comes_again_makes_nothing_new(shop: Eventful) -> None:
    job = shop.waiting_job()
    first = shop.tell(an_event())
    shop.let_pass(1)
    again = shop.tell(an_event())
    shop.let_pass(600)
    assert (again.runs, again.made) == (first.runs, 0)
    assert len(shop.fired(job)) == len(shop.runs_of(job)) == 1


def test_a_failing_run_is_retried_becomes_a_dead_letter_and_is_redriven_with_its_event(world: World) -> None:
    shop = Eventful(world, [Answer(ok=False, error="HTTP 500")] * 4)
    job = shop.waiting_job()
    (run_id,) = shop.tell(an_event()).runs
    shop.let_pass(120)
    (run,) = shop.runs_of(job)
    assert (run.status, run.failures) == (Status.FAILED, 4)
    assert [one.run_id for one in world.store.failed("acme", 10).items] == [run_id]
    shop.target.payloads.clear()
    redrive(world.engine, "acme", [run_id])
    shop.let_pass(5)
    assert shop.stored(run).status is Status.SUCCEEDED
    assert shop.target.payloads == {run_id: an_event().document}


def test_runs_have_their_jobs_priority(shop: Eventful) -> None:
    urgent = shop.waiting_job(priority=Priority.HIGH)
    shop.tell(an_event())
    (message,) = shop.world.received(Priority.HIGH)
    assert message.message.run_id == shop.runs_of(urgent)[0].run_id


def test_a_run_waits_on_the_list_of_its_queue_while_others_wait_there(shop: Eventful) -> None:
    flag_queue(shop.world.engine, DEFAULT_POOL, Priority.MEDIUM, shop.clock.now())
    job = shop.waiting_job()
    shop.tell(an_event())
    (run,) = shop.runs_of(job)
    assert (run.status, gate_of_slot(run.slot)) == (Status.PENDING, queue_gate("default-medium"))
    shop.let_pass(300)
    assert shop.stored(run).status is Status.SUCCEEDED


# --- People change jobs ---------------------------------------------------------------------------------------------


def test_a_run_that_waits_when_its_job_is_paused_is_skipped(shop: Eventful) -> None:
    job = shop.waiting_job()
    shop.tell(an_event())
    pause_job(shop.world.engine, "acme", job.job_id)
    shop.let_pass(5)
    (run,) = shop.runs_of(job)
    assert (run.status, run.reason) == (Status.SKIPPED, "paused")
    assert shop.fired(job) == []


@pytest.mark.parametrize("stop", [cancel_job, delete_job])
def test_a_stopped_job_hears_nothing_and_leaves_nothing_in_the_index(
    shop: Eventful, stop: Callable[..., object]
) -> None:
    job = shop.waiting_job(MANY_KEYS)
    assert len(shop.entries()) == 4
    stop(shop.world.engine, "acme", job.job_id)
    assert shop.entries() == []
    assert shop.tell(an_event()).runs == []
    assert shop.runs_of(job) == []


def test_a_changed_pattern_counts_from_then_on(shop: Eventful) -> None:
    job = shop.waiting_job(ORDERS)
    changed = shop.change_pattern(job, SHIPPED)
    assert (changed.status, changed.version) == (Status.ACTIVE, 2)
    assert shop.tell(an_event("e-1")).runs == []
    assert len(shop.tell(an_event("e-2", what="Order Shipped")).runs) == 1
    assert shop.entries() == [(job.job_id, changed.pattern_entry)]


def test_changing_to_the_same_pattern_writes_no_entries(shop: Eventful) -> None:
    job = shop.waiting_job(ORDERS)
    counted = Faults()
    shop.change_pattern(job, ORDERS, counted)
    assert counted.seen == ["move to ACTIVE"]
    assert len(shop.tell(an_event()).runs) == 1


def test_a_run_does_what_its_job_says_when_it_starts_with_the_event_it_was_made_of(shop: Eventful) -> None:
    job = shop.waiting_job(payload={"number": "$.detail.order.number"})
    (run_id,) = shop.tell(an_event()).runs
    changed = Definition(HttpTarget("http://y/"), payload={"other": "$.id"})
    change_job(shop.world.engine, "acme", job.job_id, lambda _, __: JobChange(definition=changed), None)
    shop.let_pass(1)
    assert shop.target.payloads[run_id] == {"number": 7}


def test_a_job_changed_between_its_entry_and_its_reading_decides_by_what_it_is(shop: Eventful) -> None:
    """The index may be behind: an old entry still leads to the job, and the job says no."""
    job = shop.waiting_job(ORDERS)
    old = shop.stored(job)
    shop.change_pattern(job, SHIPPED, Faults(2, Fault.AWAY))  # the old entries stay
    assert len(shop.entries()) == 2
    assert shop.tell(an_event()).runs == []
    assert old.pattern_entry in {name for _, name in shop.entries()}


def test_entries_that_are_left_over_go_when_an_event_meets_them_long_after(shop: Eventful) -> None:
    job = shop.waiting_job(ORDERS)
    changed = shop.change_pattern(job, SHIPPED, Faults(2, Fault.AWAY))
    shop.tell(an_event("e-1"))
    assert len(shop.entries()) == 2, "a request may still be on its way to store its job"
    shop.clock.advance(LEFT_OVER_MS / 1000 + 1)
    shop.tell(an_event("e-2"))
    assert shop.entries() == [(job.job_id, changed.pattern_entry)]


def test_a_present_entry_is_never_taken_away(shop: Eventful) -> None:
    job = shop.waiting_job()
    pause_job(shop.world.engine, "acme", job.job_id)
    shop.clock.advance(30 * 86_400)
    shop.tell(an_event("e-1"))
    resume_job(shop.world.engine, "acme", job.job_id)
    assert len(shop.tell(an_event("e-2")).runs) == 1


# --- Crashes ---------------------------------------------------------------------------------------------------------


def test_the_same_key_twice_is_one_job_with_one_set_of_entries(shop: Eventful) -> None:
    first, again = shop.waiting_job(key="k"), shop.waiting_job(key="k")
    assert first.job_id == again.job_id
    assert len(shop.entries()) == 1
    assert len(shop.tell(an_event()).runs) == 1


def test_a_batch_takes_event_jobs_too(shop: Eventful) -> None:
    definition = Definition(HttpTarget("http://x/"))
    request = JobRequest(definition, "f", Priority.LOW, "default", pattern='{"source":["shop"]}')
    keyed = replace(request, idempotency_key="k")
    jobs = submit_batch(shop.world.engine, "acme", [request, keyed, keyed])
    assert [isinstance(job, Record) for job in jobs] == [True] * 3
    assert len(shop.entries()) == 2
    assert len(shop.tell(an_event()).runs) == 2


def test_an_event_job_that_waits_for_a_parent_hears_events_from_its_end_on(shop: Eventful) -> None:
    parent = shop.submit(30)
    request = JobRequest(
        Definition(HttpTarget("http://x/")),
        "f",
        Priority.MEDIUM,
        "default",
        pattern='{"source":["shop"]}',
        parents=(parent.run_id,),
        on_parent_failure=OnParentFailure.FAIL,
    )
    job = submit_job(shop.world.engine, "acme", request)
    assert shop.tell(an_event("e-1")).runs == []
    shop.let_pass(40)
    assert (shop.status(job), shop.stored(job).slot) == (Status.ACTIVE, None)
    assert len(shop.tell(an_event("e-2")).runs) == 1


def test_an_event_that_matches_more_jobs_than_one_round_takes_runs_them_all(shop: Eventful) -> None:
    jobs = [shop.waiting_job() for _ in range(230)]
    assert len(shop.tell(an_event()).runs) == 230
    assert {len(shop.runs_of(job)) for job in jobs} == {1}


def test_an_event_out_of_time_goes_on_where_it_stopped_when_it_comes_again(shop: Eventful) -> None:
    jobs = [shop.waiting_job() for _ in range(120)]
    with pytest.raises(Unavailable, match="out of time"):
        shop.tell(an_event(), faults=Faults(1, Fault.MEANWHILE, lambda: shop.clock.advance(30)))
    assert sum(len(shop.runs_of(job)) for job in jobs) == 100
    assert shop.tell(an_event()).made == 20
    shop.let_pass(60)
    assert {len(shop.fired(job)) for job in jobs} == {1}
