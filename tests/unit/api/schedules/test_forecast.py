"""GET /v1/forecast: runs per coming minute, whatever form they stand in."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.gate_names import GateId
from onthedot.core.ports import Page, SlotEntry
from onthedot.core.slots import SlotKind, bucket_of, slot_name
from onthedot.gates.state import GateChange
from onthedot.statistics.forecast import forecast
from tests.builders import World
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import Api

FORECAST = "onthedot.statistics.forecast"


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
            flag = {"slot": slot, "due_at": world.clock.now() + 60_000, "flagged_at": 1}
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
    ("name", "value"),
    [
        ("MOST_ENTRIES", 10),
        ("MOST_IN_ALL", 5),
        ("MOST_RECURRING", 3),
        ("MOST_FIRES", 0),
        ("patience.REQUEST_MS", 0),
    ],
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


def test_what_is_counted_does_not_depend_on_which_thread_is_first(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(30):
        api.job(delay=420)
    slots = 10 * world.engine.deployment.shards
    together = threading.Barrier(slots, timeout=60)
    read_slot = world.engine.store.read_slot

    def read_when_all_have_begun(slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        if cursor is None:
            together.wait()
        return read_slot(slot, cursor, limit)

    monkeypatch.setattr(f"{FORECAST}.READERS", slots)
    monkeypatch.setattr(f"{FORECAST}.MOST_IN_ALL", 5)
    monkeypatch.setattr(world.engine.store, "read_slot", read_when_all_have_begun)
    assert api.get("/v1/forecast?minutes=10").body["truncated"] is True


def test_the_longest_window_is_twenty_five_hours(api: Api) -> None:
    api.job(every=60)
    api.job(every=15)
    api.job(cron="0 * * * *")
    api.job(delay=24 * 3600)
    api.job(every=3600, max_runs=2)
    counted: list[Any] = runs(api, 1_500)
    assert counted[:61] == [3] + [5] * 59 + [5 + 1 + 1]
    assert counted[1_440] == 5 + 1 + 1
    assert sum(counted) == 1_499 + 4 * 1_500 - 1 + 24 + 1 + 2


def test_each_minute_names_its_heaviest_jobs(api: Api, world: World) -> None:
    quick = api.job(every=10, name="quick")
    api.job(every=20, name="slower")
    for number in range(4):
        api.job(delay=420, name=f"once-{number}")
    body = api.get("/v1/forecast?minutes=1500").body
    seventh = body["minutes"][7]
    assert seventh["runs"] == 6 + 3 + 4
    assert [(one["name"], one["runs"]) for one in seventh["heaviest"]][:2] == [("quick", 6), ("slower", 3)]
    assert seventh["heaviest"][2]["name"].startswith("once-")
    assert seventh["heaviest"][0]["job_id"] == quick
    assert [one["name"] for one in body["minutes"][1_400]["heaviest"]] == ["quick", "slower"]
    assert body["minutes"][0]["heaviest"][0]["runs"] == 5
    assert "heaviest" not in Api(world).called_by("other").get("/v1/forecast").body["minutes"][0]


def test_jobs_that_fire_alike_are_counted_together(api: Api) -> None:
    for number in range(5):
        api.job(cron="0 * * * *", name=f"hourly-{number}")
    hour = api.get("/v1/forecast?minutes=100").body["minutes"][60]
    assert (hour["runs"], [one["runs"] for one in hour["heaviest"]]) == (5, [1, 1, 1])


def test_the_forecast_says_from_when_on_waiting_runs_are_missing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for minute in range(10, 30):
        api.job(delay=minute * 60)
    api.job(every=600)
    assert api.get("/v1/forecast?minutes=100").body["complete_until"] is None
    monkeypatch.setattr(f"{FORECAST}.READERS", 1)
    monkeypatch.setattr(f"{FORECAST}.MOST_IN_ALL", 10)
    body = api.get("/v1/forecast?minutes=100").body
    assert body["truncated"] is True
    assert "2026-03-01T12:1" in body["complete_until"]
    assert body["minutes"][90]["runs"] == 1, "recurring jobs count in all minutes"


def test_missed_times_of_a_job_count_as_its_policy_runs_them(api: Api, world: World) -> None:
    api.job(every=300, name="latest")
    api.job(every=300, misfire={"policy": "run_all"}, name="all")
    world.clock.advance(3_000)
    present = api.get("/v1/forecast?minutes=61").body["minutes"][0]
    assert {one["name"]: one["runs"] for one in present["heaviest"]} == {"all": 10, "latest": 2}


def test_the_nearest_runs_are_the_earliest_of_all_jobs_that_fire_alike(api: Api, world: World) -> None:
    later = [api.job(every=600, start_at=f"2026-03-01T12:05:{second}Z") for second in range(59, 49, -1)]
    found = forecast(world.engine, "acme", 30).nearest
    assert [job_id for _, job_id in found] == later[:-6:-1]


def test_the_nearest_runs_of_a_job_with_jitter_are_the_earliest_of_its_runs(api: Api, world: World) -> None:
    api.job(every=1, jitter_seconds=900, start_at="2026-03-01T12:20:00Z")
    nearest = [at for at, _ in forecast(world.engine, "acme", 60).nearest]
    assert max(nearest) < world.clock.now() + (20 + 5) * 60_000, "jitter moves one of three runs by less"


def test_a_missed_time_that_will_be_skipped_is_no_run_that_comes_next(api: Api, world: World) -> None:
    job = api.job(every=300)
    world.clock.advance(3_000)
    nearest = forecast(world.engine, "acme", 10).nearest
    assert nearest.count((world.clock.now(), job)) <= 2, "the latest missed time, and one of the current minute"
