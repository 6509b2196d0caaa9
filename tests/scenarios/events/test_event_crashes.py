"""Kill the parts that handle events and change event jobs at each effect, and change a job between two effects."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.ids import job_id_for_key
from onthedot.core.records import Record, Status
from onthedot.jobs.change import cancel_job, delete_job, pause_job, resume_job
from tests.builders import World, a_world
from tests.scenarios.kits.eventful import MANY_KEYS, ORDERS, Eventful, an_event
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.one_off.test_crash_points import each_point

SHIPPED = {"source": ["shop"], "detail-type": ["Order Shipped"]}


@pytest.fixture
def shop() -> Iterator[Eventful]:
    with a_world() as world:
        yield Eventful(world)


EFFECTS_OF_EVENT = ["create_many", "send"]
EFFECTS_OF_SUBMIT = ["put pattern", "create"]
EFFECTS_OF_CHANGE = ["put pattern", "move to ACTIVE", "remove pattern"]
EFFECTS_OF_CANCEL = ["move to CANCELLED", "remove pattern"]


def test_the_effects_are_all_known(shop: Eventful) -> None:
    submit, change, event, cancel = Faults(), Faults(), Faults(), Faults()
    job = shop.waiting_job(MANY_KEYS, faults=submit)
    shop.change_pattern(job, ORDERS, change)
    shop.tell(an_event(), faults=event)
    cancel_job(shop.engine(cancel), "acme", job.job_id)
    assert submit.seen == EFFECTS_OF_SUBMIT
    assert change.seen == EFFECTS_OF_CHANGE
    assert event.seen == EFFECTS_OF_EVENT
    assert cancel.seen == EFFECTS_OF_CANCEL


@each_point(len(EFFECTS_OF_EVENT))
@pytest.mark.parametrize("redelivered", [True, False])
def test_an_event_whose_handling_dies_makes_its_runs_once(
    world: World, at: int, fault: Fault, redelivered: bool
) -> None:
    shop = Eventful(world)
    jobs = [shop.waiting_job(MANY_KEYS) for _ in range(7)]
    faults = Faults(at, fault)
    with suppress(Crash, Unavailable):
        shop.tell(an_event(), faults=faults)
    assert len(faults.seen) > at, "the fault was never reached"
    if redelivered:
        shop.tell(an_event())
        shop.let_pass(2)  # at once: no sweep has to help
        assert {len(shop.fired(job)) for job in jobs} == {1}
    stamped = [job for job in jobs if shop.runs_of(job)]
    shop.let_pass(1_200)
    for job in stamped:
        (run,) = shop.runs_of(job)
        assert run.status is Status.SUCCEEDED
        assert shop.fired(job) == [run.run_id]


@each_point(len(EFFECTS_OF_SUBMIT))
def test_a_job_whose_submit_dies_is_there_and_hears_or_is_not_there(world: World, at: int, fault: Fault) -> None:
    shop = Eventful(world)
    with suppress(Crash, Unavailable):
        shop.waiting_job(MANY_KEYS, key="k", faults=Faults(at, fault))
    stands = world.store.get(job_id_for_key("acme", "k")) is not None
    assert len(shop.tell(an_event("e-1")).runs) == (1 if stands else 0)
    job = shop.waiting_job(MANY_KEYS, key="k")  # the client tries again
    assert len(shop.tell(an_event("e-2")).runs) == 1
    shop.let_pass(5)
    assert len(shop.fired(job)) == (2 if stands else 1)


@each_point(len(EFFECTS_OF_CHANGE))
def test_a_change_that_dies_leaves_a_job_that_hears_what_it_says(at: int, fault: Fault) -> None:
    shipped = "Order Shipped"
    with a_world() as world:
        shop = Eventful(world)
        job = shop.waiting_job(MANY_KEYS)
        with suppress(Crash, Unavailable):
            shop.change_pattern(job, {**MANY_KEYS, "detail-type": ["Order Shipped", "Order Sent"]}, Faults(at, fault))
        is_changed = "Shipped" in (shop.stored(job).pattern or "")
        assert len(shop.tell(an_event("e-1")).runs) == (0 if is_changed else 1)
        assert len(shop.tell(an_event("e-2", what=shipped)).runs) == (1 if is_changed else 0)
        assert len(shop.tell(an_event("e-3", what="Order Sent")).runs) == 1
        shop.change_pattern(job, SHIPPED)
        assert len(shop.tell(an_event("e-4", what=shipped)).runs) == 1
        assert shop.tell(an_event("e-5")).runs == []


@each_point(len(EFFECTS_OF_CANCEL))
def test_a_cancel_that_dies_stops_the_job_or_does_not(world: World, at: int, fault: Fault) -> None:
    shop = Eventful(world)
    job = shop.waiting_job()
    with suppress(Crash, Unavailable):
        cancel_job(shop.engine(Faults(at, fault)), "acme", job.job_id)
    cancelled = shop.status(job) is Status.CANCELLED
    assert len(shop.tell(an_event()).runs) == (0 if cancelled else 1)


MEANWHILE: dict[str, Callable[[Eventful, Record], object]] = {
    "paused": lambda shop, job: pause_job(shop.world.engine, "acme", job.job_id),
    "changed": lambda shop, job: shop.change_pattern(job, SHIPPED),
    "cancelled": lambda shop, job: cancel_job(shop.world.engine, "acme", job.job_id),
    "deleted": lambda shop, job: delete_job(shop.world.engine, "acme", job.job_id),
}


@pytest.mark.parametrize("what", MEANWHILE)
@pytest.mark.parametrize("at", range(len(EFFECTS_OF_EVENT)))
def test_a_job_changed_while_an_event_is_handled_leaves_every_run_with_an_outcome(
    world: World, at: int, what: str
) -> None:
    shop = Eventful(world)
    job = shop.waiting_job()
    shop.tell(an_event(), faults=Faults(at, Fault.MEANWHILE, lambda: MEANWHILE[what](shop, job)))
    shop.let_pass(5)
    (run,) = shop.runs_of(job)
    # A pattern that changed does not unmake what matched before.
    assert run.status is (Status.SUCCEEDED if what == "changed" else Status.SKIPPED)


@pytest.mark.parametrize("at", range(len(EFFECTS_OF_CHANGE)))
@pytest.mark.parametrize("what", ["paused and resumed", "changed and changed back", "changed"])
def test_two_changes_at_once_leave_a_job_that_hears_what_it_says(world: World, at: int, what: str) -> None:
    shop = Eventful(world)
    job = shop.waiting_job(ORDERS)

    def meanwhile() -> None:
        if what == "paused and resumed":
            pause_job(world.engine, "acme", job.job_id)
            resume_job(world.engine, "acme", job.job_id)
        else:
            shop.change_pattern(job, MANY_KEYS)
        if what == "changed and changed back":
            shop.change_pattern(job, ORDERS)

    shop.change_pattern(job, SHIPPED, Faults(at, Fault.MEANWHILE, meanwhile))
    stored = shop.stored(job)
    for kind in ("Order Paid", "Order Sent", "Order Shipped"):
        heard = len(shop.tell(an_event(kind, what=kind)).runs)
        assert heard == (1 if kind in (stored.pattern or "") else 0), kind
    assert {name for _, name in shop.entries()} == {stored.pattern_entry}, "nothing is left over"


# --- The rest of a job's life ----------------------------------------------------------------------------------------
