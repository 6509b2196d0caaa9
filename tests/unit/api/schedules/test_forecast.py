"""GET /v1/forecast: runs per coming minute, whatever form they stand in."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.domain.gates.names import GateId
from onthedot.domain.gates.state import GateChange
from onthedot.domain.runs.slots import SlotKind, bucket_of, slot_name
from tests.builders import World, a_world
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import Api, fields_of

FORECAST = "onthedot.use_cases.jobs.forecast"


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def runs(api: Api, minutes: int = 10) -> list[int]:
    response = api.get(f"/v1/forecast?minutes={minutes}")
    assert response.status == 200
    assert response.body["truncated"] is False
    return [minute["runs"] for minute in response.body["minutes"]]


def test_an_empty_scheduler_forecasts_nothing_for_a_quarter_of_an_hour(api: Api) -> None:
    body = api.get("/v1/forecast").body
    assert [minute["runs"] for minute in body["minutes"]] == [0] * 15
    assert body["minutes"][0]["time"] == "2026-03-01T12:00:00.000Z"
    assert body["minutes"][14]["time"] == "2026-03-01T12:14:00.000Z"


def test_one_off_jobs_count_in_their_minute_near_and_far(api: Api) -> None:
    for delay in (30, 90, 95, 420, 599, 600):
        api.job(delay=delay)
    assert runs(api) == [1, 2, 0, 0, 0, 0, 0, 1, 0, 1]


def test_a_gate_at_which_runs_wait_is_no_run(api: Api, world: World) -> None:
    for shard in range(world.deployment.shards):
        for bucket in range(5):
            slot = slot_name(SlotKind.WATCH, shard, bucket_of(world.clock.now()) + bucket)
            flag = {"slot": slot, "fire_at": world.clock.now() + 60_000, "flagged_at": 1}
            world.gates.change(GateId("acme", "customer", f"{shard}-{bucket}"), GateChange(sets=flag))
    api.job(delay=420)
    assert runs(api) == [0, 0, 0, 0, 0, 0, 0, 1, 0, 0]


def test_jobs_in_shards_that_are_used_no_more_count_too(api: Api, world: World) -> None:
    many = World.on(world.database, world.clock, replace(world.deployment, shards=16))
    for _ in range(20):
        Api(many).job(delay=420)
    assert runs(api) == [0, 0, 0, 0, 0, 0, 0, 20, 0, 0]


def test_a_recurring_job_counts_stamped_or_not(api: Api, world: World) -> None:
    api.job(every=10)
    api.job(cron="*/3 * * * *")
    assert runs(api) == [5, 6, 6, 7, 6, 6, 7, 6, 6, 7]
    Simulation(world).let_pass(60)
    assert runs(api, 3) == [5, 6, 7]


def test_limits_and_ends_are_counted(api: Api) -> None:
    api.job(every=60, max_runs=3)
    api.job(every=60, start_at="2026-03-01T12:06:00Z", max_runs=2)
    api.job(every=60, start_at="2026-03-01T12:08:00Z", end_at="2026-03-01T12:08:00Z")
    assert runs(api) == [0, 1, 1, 1, 0, 0, 1, 1, 1, 0]


def test_jitter_moves_runs_to_their_minute(api: Api) -> None:
    for _ in range(20):
        api.job(cron="6 12 * * *", jitter_seconds=120)
    counted = runs(api)
    assert sum(counted) == sum(counted[6:8]) == 20
    assert all(counted[6:8])


def test_what_is_paused_cancelled_over_or_anothers_is_not_counted(api: Api, world: World) -> None:
    api.call("POST", f"/v1/jobs/{api.job(delay=100)}/pause")
    api.call("POST", f"/v1/jobs/{api.job(every=400)}/pause")
    api.call("PUT", f"/v1/jobs/{api.job(delay=400)}/cancel")
    api.called_by("other").job(delay=70)
    api.called_by("other").job(every=300)
    api.job()
    Simulation(world).let_pass(1)
    assert runs(api) == [0] * 10
    assert runs(api.called_by("other")) == [0, 1, 0, 0, 0, 1, 0, 0, 0, 0]


def test_a_slot_of_many_pages_is_read_to_its_end(api: Api) -> None:
    for _ in range(45):
        api.job(delay=420)
    assert runs(api)[7] == 45


@pytest.mark.parametrize(
    ("name", "value"), [("MOST_ENTRIES", 10), ("MOST_RECURRING", 3), ("MOST_FIRES", 5), ("patience.REQUEST_MS", 0)]
)
def test_what_is_more_than_can_be_counted_is_said(
    api: Api, monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    for _ in range(30):
        api.job(delay=420)
    for _ in range(10):
        api.job(every=420)
    monkeypatch.setattr(f"{FORECAST}.{name}", value)
    assert api.get("/v1/forecast").body["truncated"] is True


@pytest.mark.parametrize("query", ["minutes=0", "minutes=61", "minutes=x", "minutes=", "hours=1"])
def test_a_bad_window_is_refused_by_name(api: Api, query: str) -> None:
    response = api.get(f"/v1/forecast?{query}")
    assert (response.status, fields_of(response)) == (422, {query.partition("=")[0]})


def test_the_longest_window_is_an_hour(api: Api) -> None:
    api.job(every=60)
    counted: list[Any] = runs(api, 60)
    assert counted == [0] + [1] * 59
