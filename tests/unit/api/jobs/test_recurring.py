"""Recurring jobs through the API: accepted with every field of a schedule, and shown as they stand."""

from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.core.records import Kind, Record
from onthedot.schedules.choices import DstPolicy, Gap, Misfire, MisfirePolicy, Overlap, OverlapPolicy
from onthedot.schedules.schedule import CronSchedule, EverySchedule, Recurrence, Schedule
from tests.builders import NOON, World, a_world
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import Api

HOUR = 3_600_000
BERLIN = {"cron": "0 9 * * mon-fri", "timezone": "Europe/Berlin"}


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def stored(world: World, job_id: str) -> Record:
    job = world.store.get(job_id)
    assert job is not None
    return job


def test_a_cron_job_is_accepted_active_with_its_next_fire_time(api: Api) -> None:
    response = api.submit(**BERLIN)
    assert response.status == 202
    assert response.body["status"] == "ACTIVE"
    # 1 March 2026 is a Sunday, and Berlin is an hour ahead.
    assert response.body["next_fire_time"] == response.body["fire_time"] == "2026-03-02T08:00:00.000Z"


def test_every_field_of_a_schedule_reaches_the_record(api: Api, world: World) -> None:
    job_id = api.job(
        **BERLIN,
        dst={"gap": "skip", "overlap": "twice"},
        start_at="2026-03-01T13:00:00Z",
        end_at=NOON // 1000 + 86_400 * 300,
        max_runs=7,
        jitter_seconds=900,
        misfire={"policy": "run_all", "grace_seconds": 5},
        overlap="queue",
    )
    rule = CronSchedule("0 9 * * mon-fri", "Europe/Berlin", DstPolicy(Gap.SKIP, Overlap.TWICE))
    schedule = Schedule(rule, NOON + HOUR, NOON + 86_400_000 * 300, 900)
    wanted = Recurrence(schedule, Misfire(MisfirePolicy.RUN_ALL, 5), OverlapPolicy.QUEUE, 7)
    job = stored(world, job_id)
    assert (job.kind, job.recurrence) == (Kind.RECURRING, wanted)


def test_an_interval_begins_one_interval_from_now_or_at_its_start(api: Api, world: World) -> None:
    assert api.submit(every=7200).body["next_fire_time"] == "2026-03-01T14:00:00.000Z"
    later = api.submit(every=7200, start_at="2026-03-01T12:30:00Z")
    assert later.body["next_fire_time"] == "2026-03-01T12:30:00.000Z"
    recurrence = stored(world, later.body["job_id"]).recurrence
    assert recurrence is not None
    assert recurrence.schedule.rule == EverySchedule(7200, NOON + HOUR // 2)


def test_a_start_long_past_gives_an_interval_its_beat(api: Api) -> None:
    assert api.submit(every=3600, start_at="2020-01-01T00:20:00Z").body["next_fire_time"] == "2026-03-01T12:20:00.000Z"


def test_the_job_is_shown_with_the_fields_that_made_it(api: Api) -> None:
    sent: dict[str, Any] = {
        **BERLIN,
        "dst": {"gap": "skip", "overlap": "once"},
        "start_at": "2026-03-01T13:00:00.000Z",
        "end_at": "2027-03-01T13:00:00.000Z",
        "max_runs": 9,
        "jitter_seconds": 30,
        "misfire": {"policy": "skip", "grace_seconds": 10},
        "overlap": "skip",
    }
    shown = api.get(f"/v1/jobs/{api.job(**sent)}")
    assert {name: shown.body[name] for name in sent} == sent
    assert (shown.body["version"], shown.body["runs"], shown.body["last_run"]) == (1, 0, None)
    assert shown.headers["ETag"] == '"1"'
    assert "every" not in shown.body


def test_defaults_are_shown_and_a_one_off_job_shows_no_schedule(api: Api) -> None:
    shown = api.get(f"/v1/jobs/{api.job(every=3600)}").body
    assert shown["misfire"] == {"policy": "run_latest", "grace_seconds": 60}
    assert (shown["overlap"], shown["jitter_seconds"], shown["max_runs"]) == ("allow", 0, None)
    assert not {"cron", "timezone", "dst"} & shown.keys()
    assert not {"every", "overlap", "runs"} & api.get(f"/v1/jobs/{api.job()}").body.keys()


def test_the_next_fire_time_is_the_next_fire_and_not_where_stamping_has_come_to(api: Api, world: World) -> None:
    job_id = api.job(every=10)
    assert stored(world, job_id).fire_at > NOON + 200_000
    assert api.get(f"/v1/jobs/{job_id}").body["next_fire_time"] == "2026-03-01T12:00:10.000Z"
    world.clock.advance(12)
    assert api.get(f"/v1/jobs/{job_id}/status").body["next_run"] == "2026-03-01T12:00:20.000Z"


def test_an_overdue_job_shows_the_time_it_waits_for(api: Api, world: World) -> None:
    job_id = api.job(every=3600)
    world.clock.advance(4000)
    assert api.get(f"/v1/jobs/{job_id}/status").body["next_run"] == "2026-03-01T13:00:00.000Z"


def test_the_status_tells_of_the_last_run_though_later_ones_are_stamped(api: Api, world: World) -> None:
    job_id = api.job(every=1)
    simulation = Simulation(world)
    simulation.let_pass(5)
    status = api.get(f"/v1/jobs/{job_id}/status").body
    assert status == {
        "job_id": job_id,
        "status": "ACTIVE",
        "reason": None,
        "last_run": "2026-03-01T12:00:05.000Z",
        "next_run": "2026-03-01T12:00:06.000Z",
        "retry_count": 0,
    }
    assert api.get(f"/v1/jobs/{job_id}").body["runs"] == 5


def test_a_job_is_not_over_before_its_last_run_has_had_its_time(api: Api, world: World) -> None:
    accepted = api.submit(every=60, max_runs=2).body
    assert (accepted["status"], accepted["next_fire_time"]) == ("ACTIVE", "2026-03-01T12:01:00.000Z")
    path = f"/v1/jobs/{accepted['job_id']}/status"
    simulation = Simulation(world)
    simulation.let_pass(61)
    assert api.get(path).body["next_run"] == "2026-03-01T12:02:00.000Z"
    simulation.let_pass(60)
    over = api.get(path).body
    assert (over["status"], over["next_run"]) == ("COMPLETED", None)
    assert over["last_run"] == "2026-03-01T12:02:00.000Z"


def test_a_retried_create_is_answered_even_when_its_schedule_has_ended(api: Api, world: World) -> None:
    fields = {"cron": "* * * * *", "end_at": "2026-03-01T13:00:00Z", "idempotency_key": "k"}
    first = api.submit(**fields)
    world.clock.advance(86_400)
    again = api.submit(**fields)
    assert (again.status, again.body["job_id"]) == (202, first.body["job_id"])
    assert api.submit(**{**fields, "idempotency_key": "other"}).status == 422


def test_a_paused_job_has_no_next_fire_time(api: Api) -> None:
    job_id = api.job(**BERLIN)
    paused = api.call("POST", f"/v1/jobs/{job_id}/pause").body
    assert (paused["status"], paused["next_fire_time"], paused["fire_time"]) == ("PAUSED", None, None)
    assert api.get(f"/v1/jobs/{job_id}/status").body["next_run"] is None
