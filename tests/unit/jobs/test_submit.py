"""New jobs: times and keys as they are sent, what is refused by its name, and how a recurring job stands."""

from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.records import Attempt
from onthedot.jobs.executions_views import lateness_ms
from onthedot.jobs.shown import shown_status
from onthedot.schedules.schedule import EverySchedule
from tests.builders import NOON, VirtualClock, World, a_run
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import URL, Api, fields_of, message_of


@pytest.mark.parametrize(
    ("fields", "fire_time"),
    [
        ({"delay": 3}, "2026-03-01T12:00:03.000Z"),
        ({"delay": 0.0001}, "2026-03-01T12:00:00.001Z"),
        ({"at": "2026-03-01T14:30:00.25+02:00"}, "2026-03-01T12:30:00.250Z"),
        ({"at": NOON // 1000 + 1.123}, "2026-03-01T12:00:01.123Z"),
        ({"at": "2026-02-28T12:00:00Z"}, "2026-02-28T12:00:00.000Z"),
        ({"at": "2036-03-01T12:00:00Z"}, "2036-03-01T12:00:00.000Z"),
    ],
)
def test_the_time_is_taken_as_written(api: Api, fields: dict[str, Any], fire_time: str) -> None:
    response = api.submit(**fields)
    assert (response.status, response.body["next_fire_time"]) == (202, fire_time)


def test_a_target_is_shown_with_its_secrets_hidden(api: Api) -> None:
    target = {
        "type": "http",
        "url": URL,
        "method": "PUT",
        "headers": {"Authorization": "Bearer x", "Cookie": "y", "X-Api-Key": "z", "Accept": "text/plain"},
    }
    shown = api.get(f"/v1/jobs/{api.job(target=target)}").body["target"]
    assert shown["headers"] == {"Authorization": "***", "Cookie": "***", "X-Api-Key": "***", "Accept": "text/plain"}


def test_lateness_is_unknown_when_the_first_attempt_is_no_longer_kept() -> None:
    kept = Attempt(2, "w", NOON + 9, NOON + 10, "failed", "x")
    run = replace(a_run(VirtualClock()).build(), attempt=2, started_at=NOON + 9, attempts=(kept,))
    assert lateness_ms(run) is None
    assert shown_status(run, run.due_at) == "RETRYING"


def test_an_interval_begins_one_interval_from_now_or_at_its_start(api: Api, world: World) -> None:
    assert api.submit(every=7200).body["next_fire_time"] == "2026-03-01T14:00:00.000Z"
    later = api.submit(every=7200, start_at="2026-03-01T12:30:00Z")
    assert later.body["next_fire_time"] == "2026-03-01T12:30:00.000Z"
    recurrence = api.record(later.body["job_id"]).recurrence
    assert recurrence is not None
    assert recurrence.schedule.rule == EverySchedule(7200, NOON + 1_800_000)
    assert api.submit(every=3600, start_at="2020-01-01T00:20:00Z").body["next_fire_time"] == "2026-03-01T12:20:00.000Z"


def test_the_next_fire_time_is_the_next_fire_and_not_where_stamping_has_come_to(api: Api, world: World) -> None:
    job_id = api.job(every=10)
    assert api.record(job_id).due_at > NOON + 200_000
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


@pytest.mark.parametrize(
    "fields", [{"at": "2026-03-01T12:00:10Z"}, {"cron": "* * * * *", "end_at": "2026-03-01T13:00:00Z"}]
)
def test_a_retried_create_is_answered_even_when_its_time_is_long_past(
    api: Api, world: World, fields: dict[str, Any]
) -> None:
    first = api.submit(idempotency_key="k", **fields)
    world.clock.advance(3 * 86_400)
    again = api.submit(idempotency_key="k", **fields)
    assert (again.status, again.body["job_id"]) == (202, first.body["job_id"])
    assert api.submit(idempotency_key="other", **fields).status == 422
    assert api.submit(idempotency_key="k", **fields, name="another body").status == 422


def test_a_deleted_job_is_gone_and_its_key_resurrects_nothing(api: Api) -> None:
    job_id = api.submit(idempotency_key="k").body["job_id"]
    assert api.call("DELETE", f"/v1/jobs/{job_id}").body == {"deleted": True}
    assert api.get(f"/v1/jobs/{job_id}").status == 404
    assert api.call("DELETE", f"/v1/jobs/{job_id}").status == 404
    again = api.submit(idempotency_key="k")
    assert (again.body["job_id"], again.body["status"], again.body["next_fire_time"]) == (job_id, "DELETED", None)


NOW_SECONDS = NOON // 1000
DAY = 86_400
EVERY: dict[str, Any] = {"every": 60}
BAD_FIELDS: list[tuple[dict[str, Any], str, str]] = [
    ({"colour": "x"}, "colour", "unknown field"),
    ({"dealy": 3}, "dealy", "did you mean delay?"),
    ({"max_retries": 3}, "max_retries", "did you mean retry.max_retries?"),
    ({"max_retrys": 3}, "max_retrys", "did you mean retry.max_retries?"),
    ({"url": URL}, "url", "did you mean target.url?"),
    ({"target": {"type": "http", "url": URL, "headrs": {}}}, "target.headrs", "did you mean headers?"),
    ({"target": {"type": "http", "url": URL, "colour": "x"}}, "target.colour", "remove it"),
    ({"target": "x"}, "target", "object"),
    ({"target": {"type": "http"}}, "target.url", "missing"),
    ({"tags": {"a": "x" * 256}}, "tags.a", "at most 255"),
    ({"tags": {"k" * 256: "x"}}, f"tags.{'k' * 100}…", "at most 255"),
    ({"gates": ["a" * 65]}, "gates.0", "1 to 64"),
    ({"gates": ["@tenant"]}, "gates.0", "1 to 64"),
    ({"gates": ["stripe\n"]}, "gates.0", "1 to 64"),
    ({"gates": ["customer:"]}, "gates.0", "1 to 128"),
    ({"gates": ["customer:" + "k" * 129]}, "gates.0", "1 to 128"),
    ({"gates": ["customer:a\nb"]}, "gates.0", "printed"),
    ({"gates": ["stripe", "stripe"]}, "gates.1", "twice"),
    ({"at": "2030-01-01"}, "at", "not a time"),
    ({"at": "2030-02-30T00:00:00Z"}, "at", "does not exist"),
    ({"at": "2030-01-01T00:00:00+24:00"}, "at", "impossible offset"),
    ({"at": "２０３０-01-01T00:00:00Z"}, "at", "not a time"),
    ({"at": NOW_SECONDS - DAY - 1}, "at", "in the past"),
    ({"at": NOW_SECONDS + 3654 * DAY}, "at", "10 years"),
    ({"at": NOON}, "at", "not milliseconds"),
    ({"at": 1e300}, "at", "10 years"),
    ({**EVERY, "timezone": "UTC"}, "timezone", "only with cron"),
    ({**EVERY, "dst": {}}, "dst", "only with cron"),
    ({"cron": "x"}, "cron", "give 5"),
    ({"cron": "* " * 200}, "cron", "at most 255"),
    ({**EVERY, "start_at": NOW_SECONDS + 3654 * DAY}, "start_at", "10 years"),
    ({**EVERY, "end_at": NOON}, "end_at", "not milliseconds"),
    ({**EVERY, "end_at": 1e300}, "end_at", "9998"),
    ({**EVERY, "end_at": "2026-03-01T12:00:59Z"}, "end_at", "leaves no fire time"),
    ({**EVERY, "start_at": "2026-03-02T00:00:00Z", "end_at": "2026-03-01T23:00:00Z"}, "end_at", "before start_at"),
]


@pytest.mark.parametrize(("fields", "name", "advice"), BAD_FIELDS)
def test_a_bad_field_is_refused_by_name_and_nothing_is_stored(
    api: Api, fields: dict[str, Any], name: str, advice: str
) -> None:
    response = api.submit(**fields)
    assert response.status == 422
    assert response.body["error"]["code"] == "invalid_request"
    assert fields_of(response) == {name}
    assert advice in message_of(response)
    assert api.stored() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"at": "2030-01-01T00:00:00Z", "delay": 3},
        {"at": "2030-01-01T00:00:00Z", "cron": "* * * * *"},
        {"cron": "* * * * *", "delay": 1},
        {"cron": "* * * * *", "every": 5, "on_event": {}},
        {"callback_url": URL, "target": {"type": "http", "url": URL}},
    ],
)
def test_two_of_a_choice_are_refused_naming_each(api: Api, fields: dict[str, Any]) -> None:
    response = api.submit(**fields)
    assert (response.status, fields_of(response)) == (422, set(fields))
    assert api.stored() == []


def test_a_job_without_target_is_told_what_is_missing(api: Api) -> None:
    response = api.post({})
    assert (response.status, fields_of(response)) == (422, {"target"})
    assert "callback_url" in message_of(response)


def test_every_mistake_is_named_at_once(api: Api) -> None:
    assert fields_of(api.submit(delay=-1, priority="x", colour=1)) == {"delay", "priority", "colour"}


def test_a_thousand_mistakes_make_a_short_answer(api: Api) -> None:
    response = api.submit(**{"x" * 1000 + str(n): n for n in range(1000)})
    assert response.status == 422
    assert len(response.text) < 8_000


@pytest.mark.parametrize(
    ("key", "name"), [("", "Idempotency-Key"), ("x" * 256, "Idempotency-Key"), ("other", "idempotency_key")]
)
def test_a_bad_key_in_the_header_is_refused(api: Api, key: str, name: str) -> None:
    response = api.submit({"idempotency-key": key}, idempotency_key="one")
    assert (response.status, fields_of(response)) == (422, {name})
    assert api.stored() == []
