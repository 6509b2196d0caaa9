"""All jobs of a tenant are paused, resumed or cancelled, and one that fails does not stop the others."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from onthedot.access import tenants
from onthedot.access.tenant_data import TenantData
from onthedot.access.tenants import Action, Changed, change_jobs
from onthedot.core.errors import InvalidRequest, Unavailable
from onthedot.core.records import Record, Status
from tests.builders import World, a_world
from tests.unit.api.kit import Api

JOBS = 5


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


def submit(world: World, tenant: str, **when: Any) -> str:
    body = {"callback_url": "https://example.com/x", **when}
    answer = Api(world).called_by(tenant).send("POST", "/v1/jobs", **body)
    assert answer.status == 202, answer.body
    return str(answer.body["job_id"])


def fill(world: World, tenant: str) -> list[str]:
    return [submit(world, tenant, cron="0 0 * * *") for _ in range(JOBS)] + [submit(world, tenant, delay=9_000)]


def change(world: World, tenant: str, action: Action) -> Changed:
    data = TenantData(world.items, world.blobs, page_size=2)
    return change_jobs(world.engine, data, tenant, action, lambda _: None)


def statuses(world: World, ids: list[str]) -> set[Status]:
    found = [world.store.get(job_id) for job_id in ids]
    return {job.status for job in found if job is not None}


def test_jobs_are_paused_resumed_and_cancelled_and_those_of_others_stay(world: World) -> None:
    own, others = fill(world, "acme"), fill(world, "acme2")
    before = statuses(world, others)
    assert change(world, "acme", Action.PAUSE) == Changed(done=JOBS + 1)
    assert statuses(world, own) == {Status.PAUSED}
    assert change(world, "acme", Action.PAUSE) == Changed(done=JOBS + 1), "again, without an effect"
    assert change(world, "acme", Action.RESUME) == Changed(done=JOBS + 1)
    assert statuses(world, own) == before
    assert change(world, "acme", Action.CANCEL) == Changed(done=JOBS + 1)
    assert statuses(world, own) == {Status.CANCELLED}
    assert change(world, "acme", Action.CANCEL) == Changed()
    assert statuses(world, others) == before


def test_a_job_that_fails_stops_no_other_and_the_same_call_changes_it_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = fill(world, "acme")
    cancel: Callable[..., Record] = tenants.CHANGES[Action.CANCEL]
    away = [own[2]]

    def fails(engine: Any, tenant: str, job_id: str, by: str) -> Record:
        if job_id in away:
            raise Unavailable("dynamodb")
        return cancel(engine, tenant, job_id, by)

    monkeypatch.setitem(tenants.CHANGES, Action.CANCEL, fails)
    assert change(world, "acme", Action.CANCEL) == Changed(done=JOBS, failed=1)
    away.clear()
    assert change(world, "acme", Action.CANCEL) == Changed(done=1)
    assert statuses(world, own) == {Status.CANCELLED}


@pytest.mark.parametrize("tenant", ["", "onthedot", "a\nb"])
def test_a_text_that_is_no_tenant_is_refused(world: World, tenant: str) -> None:
    with pytest.raises(InvalidRequest, match="tenant"):
        change(world, tenant, Action.CANCEL)
