"""Idempotency keys: one job for one key and body, as long as the key lives."""

from collections.abc import Iterator

import pytest

from tests.builders import World, a_world
from tests.unit.api.kit import Api


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def test_the_same_key_and_body_is_the_same_job_wherever_the_key_stands(api: Api) -> None:
    first = api.submit(idempotency_key="k", delay=3)
    again = api.submit({"IDEMPOTENCY-KEY": "k"}, delay=3)
    both = api.submit({"Idempotency-Key": "k"}, idempotency_key="k", delay=3)
    assert first.status == again.status == both.status == 202
    assert first.body == again.body == both.body


def test_the_order_of_a_body_is_not_another_body(api: Api) -> None:
    first = api.post(b'{"callback_url": "http://a/", "delay": 3, "idempotency_key": "k"}')
    assert api.post(b'{"idempotency_key":"k","delay":3,"callback_url":"http://a/"}').body == first.body


def test_the_same_key_with_another_body_conflicts(api: Api) -> None:
    api.submit(idempotency_key="k", delay=3)
    before = api.stored()
    response = api.submit(idempotency_key="k", delay=4)
    assert (response.status, response.body["error"]["code"]) == (409, "idempotency_conflict")
    assert api.stored() == before


def test_two_tenants_may_use_one_key(api: Api) -> None:
    first, second = api.submit(idempotency_key="k"), api.called_by("other").submit(idempotency_key="k", delay=9)
    assert second.status == 202
    assert first.body["job_id"] != second.body["job_id"]


def test_a_retried_create_is_answered_even_when_its_time_is_long_past(api: Api, world: World) -> None:
    first = api.submit(idempotency_key="k", at="2026-03-01T12:00:10Z")
    world.clock.advance(3 * 86_400)
    again = api.submit(idempotency_key="k", at="2026-03-01T12:00:10Z")
    assert (again.status, again.body["job_id"]) == (202, first.body["job_id"])
    assert api.submit(idempotency_key="other", at="2026-03-01T12:00:10Z").status == 422


def test_a_deleted_job_is_gone_and_its_key_resurrects_nothing(api: Api) -> None:
    job_id = api.submit(idempotency_key="k").body["job_id"]
    assert api.call("DELETE", f"/v1/jobs/{job_id}").body == {"deleted": True}
    assert api.get(f"/v1/jobs/{job_id}").status == 404
    assert api.call("DELETE", f"/v1/jobs/{job_id}").status == 404
    again = api.submit(idempotency_key="k")
    assert (again.body["job_id"], again.body["status"], again.body["next_fire_time"]) == (job_id, "DELETED", None)
