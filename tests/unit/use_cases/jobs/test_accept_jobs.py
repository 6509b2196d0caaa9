"""Jobs from clients: times are checked, and a late retry gets the answer of the first request."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from onthedot.core.choices import Priority
from onthedot.core.errors import InvalidRequest
from onthedot.core.records import Definition, Record
from onthedot.jobs.submit import JobRequest, accept_batch, accept_job
from onthedot.targets.types import HttpTarget
from tests.builders import NOON, World, a_world

TWO_DAYS_MS = 2 * 86_400_000
REQUEST = JobRequest(
    definition=Definition(HttpTarget("http://127.0.0.1:9/")),
    fingerprint="body",
    priority=Priority.MEDIUM,
    at=NOON,
    idempotency_key="order-1",
)
TOO_OLD = replace(REQUEST, at=NOON - TWO_DAYS_MS, idempotency_key=None)


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


def test_a_time_outside_of_the_window_is_refused(world: World) -> None:
    with pytest.raises(InvalidRequest, match="more than a day in the past"):
        accept_job(world.engine, "acme", TOO_OLD, NOON)


def test_a_late_retry_is_answered_like_the_first_request(world: World) -> None:
    first = accept_job(world.engine, "acme", REQUEST, NOON)
    again = accept_job(world.engine, "acme", REQUEST, NOON + TWO_DAYS_MS)
    assert again.job_id == first.job_id


def test_a_late_retry_with_another_body_is_refused(world: World) -> None:
    accept_job(world.engine, "acme", REQUEST, NOON)
    with pytest.raises(InvalidRequest):
        accept_job(world.engine, "acme", replace(REQUEST, fingerprint="another"), NOON + TWO_DAYS_MS)


def test_each_job_of_a_batch_is_accepted_or_refused_on_its_own_and_in_order(world: World) -> None:
    first = accept_job(world.engine, "acme", REQUEST, NOON)
    fresh = replace(REQUEST, at=NOON + TWO_DAYS_MS, idempotency_key=None)
    refused, repeated, stored = accept_batch(world.engine, "acme", [TOO_OLD, REQUEST, fresh], NOON + TWO_DAYS_MS)
    assert isinstance(refused, InvalidRequest)
    assert isinstance(repeated, Record)
    assert repeated.job_id == first.job_id
    assert isinstance(stored, Record)
    assert stored.fire_at == NOON + TWO_DAYS_MS
