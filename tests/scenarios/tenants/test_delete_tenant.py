"""A tenant's data is deleted whole, wherever the process stops, and nothing of another tenant changes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest

from onthedot.access import tenants as deleting
from onthedot.access.tenant_data import TenantData
from onthedot.access.tenants import Deleted, delete_tenant
from onthedot.core.errors import InvalidRequest, Unavailable
from onthedot.core.ports import Answer
from onthedot.gates.limits import TenantLimits
from tests.builders import World, a_world
from tests.scenarios.kits.faults import Crash, Fault, Faults, FaultyPort
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.gates.kit import hold, park
from tests.unit.api.kit import SHELL, Api, a_worker

LONG = "x" * 2_000
OTHERS = ("acm", "acme2", "acme#0", "4:acme", "ACME")
"""Names that a careless comparison takes for the deleted one."""
EVENT: dict[str, Any] = {"source": "shop", "detail_type": "Order Paid", "detail": {"text": LONG}}
TABLES = ("runs", "items", "blobs")
WAITING = "waiting until nothing writes to it"


def stored(world: World) -> list[str]:
    """Every row of every table in which a tenant has any, but the progress of ticks and the messages, which expire."""
    with world.database.transaction() as connection:
        rows = [f"{table} {tuple(row)}" for table in TABLES for row in connection.execute(f"SELECT * FROM {table}")]
    return sorted(row for row in rows if not row.startswith(("items ('progress#", "items ('shards'")))


def post(api: Api, path: str, **fields: Any) -> dict[str, str]:
    response = api.send("POST", path, **fields)
    assert response.status < 300, response.body
    return dict(response.body)


def fill(world: World, tenant: str) -> None:
    """Give a tenant something of every kind. Some jobs have run, and the others are due far ahead."""
    api = Api(world).called_by(tenant)
    assert api.send("PUT", "/v1/gates/customer", in_flight=2).status == 200
    simulation = Simulation(world, [Answer(ok=True, result=LONG), Answer(ok=False, error="no", retryable=False)])
    for _ in range(2):
        api.job(payload=LONG)
    api.job(on_event={"source": ["shop"]})
    post(api, "/v1/events", **EVENT)
    for _ in range(4):
        simulation.work()
    api.job(delay=86_400, payload=LONG, tags={"a": "b"}, idempotency_key="k")
    api.job(cron="0 0 1 1 *", description=tenant)
    deleted = api.job(delay=86_400, payload=tenant * 500)
    assert api.call("DELETE", f"/v1/jobs/{deleted}").status == 200
    post(api, "/v1/workflows", jobs=[{"key": "a", "callback_url": "https://x.example/", "delay": 86_400}], delay=80_000)
    park(world, api.job(delay=150, gates=["customer:42"]), "customer:42", tenant)
    hold(world, "customer:43", tenant=tenant)
    hold(world, "@tenant", tenant=tenant)
    a_worker(api)
    assert api.get("/v1/signing-keys").status == 200
    post(api, "/v1/tokens", tenant=tenant, role="viewer", name="ada")
    post(api, "/v1/tokens", tenant=tenant, role="admin", name="zoë", expires_at=4_000_000_000)
    world.limits.put(tenant, TenantLimits(weight=3))


@contextmanager
def a_filled_world() -> Iterator[tuple[World, list[str]]]:
    """A world with all these tenants, and what must be left of it."""
    with a_world(page_size=4) as world:
        for tenant in OTHERS:
            fill(world, tenant)
        left = stored(world)
        fill(world, "acme")
        assert len(stored(world)) - len(left) > 20
        yield world, left


@dataclass
class FaultyData:
    inner: TenantData
    one_by_one: TenantData
    faults: Faults

    def delete_page(self, tenant: str, cursor: str | None = None) -> tuple[int, str | None]:
        half = lambda: self.one_by_one.delete_page(tenant)  # noqa: E731
        return self.faults.around("delete page", lambda: self.inner.delete_page(tenant, cursor), half)

    def delete_blobs(self, tenant: str) -> int:
        half = lambda: self.one_by_one.delete_blobs(tenant)  # noqa: E731
        return self.faults.around("delete blobs", lambda: self.inner.delete_blobs(tenant), half)


def delete(world: World, faults: Faults | None = None, report: Callable[[str, Deleted], None] | None = None) -> Deleted:
    faults = faults or Faults()
    data: Any = FaultyData(world.tenant_data, TenantData(world.items, world.blobs, 1), faults)
    limits: Any = FaultyPort(world.limits, faults, {"put": "put limits"})
    tokens: Any = FaultyPort(world.tokens, faults, {"remove": "remove token"})
    engine = replace(world.engine, limits=limits, tokens=tokens)
    return delete_tenant(engine, data, "acme", report or (lambda *_: None))


def test_all_of_the_tenant_goes_and_nothing_of_others() -> None:
    with a_filled_world() as (world, left):
        before = len(stored(world))
        deleted = delete(world)
        assert stored(world) == left
        assert deleted.tokens == 2
        assert deleted.blobs >= 4, "payloads of jobs, of an event and of a deleted job, and a result"
        # The limits are not counted, and the states that flags made are. A token has two items.
        assert 2 * deleted.tokens + deleted.entries + deleted.blobs >= before - len(left) - 1


def test_the_tenant_can_be_deleted_again_and_a_tenant_that_is_none_too() -> None:
    with a_filled_world() as (world, left):
        delete(world)
        assert delete(world) == Deleted()
        assert stored(world) == left


CRASHES = [Fault.CRASH_BEFORE, Fault.CRASH_HALFWAY, Fault.CRASH_AFTER, Fault.AWAY, Fault.LOST_REPLY]


def test_the_effects_are_all_known() -> None:
    with a_filled_world() as (world, _):
        counted = Faults()
        delete(world, counted)
        assert counted.seen[:3] == ["put limits", "remove token", "remove token"]
        assert set(counted.seen[3:-1]) == {"delete page", "delete blobs"}
        assert counted.seen[-1] == "put limits"


@pytest.mark.slow
@pytest.mark.parametrize("fault", CRASHES)
def test_wherever_it_stops_the_tenant_stands_still_and_the_next_call_deletes_the_rest(fault: Fault) -> None:
    points = 0
    while True:
        with a_filled_world() as (world, left):
            faults = Faults(points, fault)
            try:
                delete(world, faults)
            except (Crash, Unavailable):
                stopped = world.limits.find("acme")
                is_last = stored(world) == left
                is_first = points == 0 and fault is not Fault.CRASH_AFTER
                assert is_first or is_last or (stopped is not None and stopped.is_stopped)
                delete(world)
            assert stored(world) == left
            if len(faults.seen) <= points:
                break
        points += 1
    assert points > 10


def test_a_job_that_comes_while_the_tenant_is_deleted_goes_too_and_never_runs() -> None:
    """API Gateway accepts its token for some seconds more."""
    with a_filled_world() as (world, left):
        simulation = Simulation(world)
        late: list[str] = []

        def report(step: str, deleted: Deleted) -> None:
            if step == WAITING:
                api = Api(world).called_by("acme")
                late.extend([api.job(payload=LONG), api.job(cron="* * * * *")])
                simulation.work()

        delete(world, report=report)
        assert stored(world) == left
        simulation.let_pass(180)
        assert len(late) == 2
        assert not {run_id.partition(".")[0] for run_id, _, _ in simulation.target.calls} & set(late)


def test_an_attempt_under_way_cannot_end_and_leaves_nothing(world: World) -> None:
    left = stored(world)
    api = Api(world).called_by("acme")
    assert api.send("PUT", "/v1/gates/stripe", in_flight=1).status == 200
    job_id, worker = api.job(target=SHELL, gates=["stripe"]), a_worker(api)
    run = worker.take()
    answers = []

    def report(step: str, deleted: Deleted) -> None:
        if step == WAITING:
            answers.extend([worker.keep(run), worker.complete(run, result=LONG), worker.beat()])

    delete(world, report=report)
    assert [answer.status for answer in answers] == [404, 404, 404]
    assert api.get(f"/v1/jobs/{job_id}").status == 404
    assert stored(world) == left


def test_while_a_program_goes_on_to_write_the_deletion_is_not_called_done() -> None:
    with a_filled_world() as (world, left):

        def report(step: str, deleted: Deleted) -> None:
            Api(world).called_by("acme").job(delay=86_400)

        with pytest.raises(Unavailable, match="still being written"):
            delete(world, report=report)
        limits = world.limits.find("acme")
        assert limits is not None
        assert limits.is_stopped
        delete(world)
        assert stored(world) == left


def test_it_waits_until_nothing_writes_for_the_tenant(world: World) -> None:
    before = world.clock.now()
    delete(world)
    assert world.clock.now() - before >= deleting.SETTLED_MS


def test_after_a_long_pass_it_waits_for_attempts_whose_records_were_deleted_last(world: World) -> None:
    times: list[tuple[str, int]] = []

    def report(step: str, deleted: Deleted) -> None:
        if not any(seen.startswith("waiting") for seen, _ in times):
            world.clock.advance(600)
        times.append((step, world.clock.now()))

    delete(world, report=report)
    steps = [step for step, _ in times]
    wait = steps.index("waiting until nothing writes to it")
    assert times[wait + 1][1] - times[wait - 1][1] >= deleting.STOPPED_MS


@pytest.mark.parametrize("tenant", ["onthedot", "", "a" * 101, "a\nb"])
def test_the_stages_own_tenant_and_what_is_no_name_are_refused(world: World, tenant: str) -> None:
    before = stored(world)
    with pytest.raises(InvalidRequest, match="tenant: "):
        delete_tenant(world.engine, world.tenant_data, tenant, lambda *_: None)
    assert stored(world) == before
