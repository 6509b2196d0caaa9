"""POST /v1/schedules/preview: the coming fires, annotated; nothing is stored."""

from typing import Any

import pytest

from onthedot.api.http import Response
from tests.builders import NOON
from tests.unit.api.kit import Api, fields_of, message_of


def preview(api: Api, /, **fields: Any) -> Response:
    return api.send("POST", "/v1/schedules/preview", **fields)


def times(response: Response) -> list[str]:
    assert response.status == 200, response.body
    return [fire["time"] for fire in response.body["fire_times"]]


def test_a_cron_is_shown_in_its_zone(api: Api) -> None:
    response = preview(api, cron="0 9 * * mon-fri", timezone="Europe/Berlin", count=2)
    assert response.body == {
        "fire_times": [
            {"time": "2026-03-02T08:00:00.000Z", "local": "2026-03-02T09:00:00+01:00", "note": None},
            {"time": "2026-03-03T08:00:00.000Z", "local": "2026-03-03T09:00:00+01:00", "note": None},
        ]
    }
    assert api.stored() == []


def test_ten_fires_are_shown_unless_said_otherwise(api: Api) -> None:
    assert len(times(preview(api, cron="* * * * *"))) == 10
    assert len(times(preview(api, cron="* * * * *", count=1000))) == 1000


def test_a_gap_and_an_overlap_are_annotated(api: Api) -> None:
    night: dict[str, Any] = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "count": 1}
    gap = preview(api, **night, after="2026-03-28T12:00:00Z").body["fire_times"][0]
    assert (gap["time"], gap["local"]) == ("2026-03-29T01:00:00.000Z", "2026-03-29T03:00:00+02:00")
    assert "does not exist" in gap["note"]
    skipped = preview(api, **night, after="2026-03-28T12:00:00Z", dst={"gap": "skip"}).body["fire_times"][0]
    assert skipped["time"] == "2026-03-30T00:30:00.000Z"
    assert "skipped" in skipped["note"]
    twice = preview(api, **night, after="2026-10-24T12:00:00Z").body["fire_times"][0]
    assert "happens twice" in twice["note"]


def test_an_interval_counts_from_then_or_from_its_start(api: Api) -> None:
    assert times(preview(api, every=90, count=2)) == ["2026-03-01T12:01:30.000Z", "2026-03-01T12:03:00.000Z"]
    assert times(preview(api, every=90, count=1, after="2030-01-01T00:00:00Z")) == ["2030-01-01T00:01:30.000Z"]
    started = preview(api, every=90, count=1, start_at="2026-03-01T11:59:00Z")
    assert times(started) == ["2026-03-01T12:00:30.000Z"]


def test_limits_end_the_preview(api: Api) -> None:
    ended = preview(api, cron="0 * * * *", start_at="2026-03-01T15:00:00Z", end_at="2026-03-01T16:00:00Z")
    assert times(ended) == ["2026-03-01T15:00:00.000Z", "2026-03-01T16:00:00.000Z"]
    over = preview(api, cron="0 * * * *", after="2026-03-02T00:00:00Z", end_at="2026-03-01T16:00:00Z")
    assert times(over) == [], "it fires before that, so it is a schedule"


@pytest.mark.parametrize(
    ("fields", "at_fault"),
    [
        ({"cron": "cron(0 10 * * ? 2020)"}, "cron"),
        ({"cron": "30 2 28 3 *", "timezone": "Europe/Berlin", "end_at": "2026-03-02T00:00:00Z"}, "end_at"),
        ({"every": 1, "end_at": NOON // 1000}, "end_at"),
        ({"every": 1, "end_at": 0}, "end_at"),
    ],
)
def test_a_schedule_without_a_coming_fire_is_refused_like_that_of_a_job(
    api: Api, fields: dict[str, Any], at_fault: str
) -> None:
    refused = preview(api, **fields)
    assert (refused.status, fields_of(refused)) == (422, {at_fault})
    assert refused.body["error"]["details"] == api.submit(**fields).body["error"]["details"]


def test_past_fires_are_shown_of_a_schedule_that_has_ended(api: Api) -> None:
    past = preview(api, cron="cron(0 10 1 1 ? 2020)", after="2019-06-01T00:00:00Z")
    assert times(past) == ["2020-01-01T10:00:00.000Z"]


def test_jitter_is_said_of_each_fire(api: Api) -> None:
    fires = preview(api, cron="30 2 * * *", jitter_seconds=30, count=2).body["fire_times"]
    assert [fire["note"] for fire in fires] == ["jitter: starts up to 30 s later"] * 2


@pytest.mark.parametrize(
    "fields", [{"every": 315_619_200}, {"every": 1, "after": "9998-12-31T23:59:00Z"}, {"cron": "* * * * *", "after": 0}]
)
def test_the_end_of_the_calendar_is_the_end_of_the_preview(api: Api, fields: dict[str, Any]) -> None:
    assert 0 < len(times(preview(api, count=1000, **fields))) <= 1000


BAD: list[tuple[dict[str, Any], set[str], str]] = [
    ({}, {"cron"}, "give cron or every"),
    ({"timezone": "UTC"}, {"cron"}, "give cron or every"),
    ({"cron": "* * * * *", "every": 1}, {"cron", "every"}, "only one"),
    ({"cron": "x"}, {"cron"}, "give 5"),
    ({"cron": "* * * * *", "timezone": "Mars"}, {"timezone"}, "not a time zone"),
    ({"every": 1, "timezone": "UTC"}, {"timezone"}, "only with cron"),
    ({"every": 1, "count": 0}, {"count"}, "1 or more"),
    ({"every": 1, "count": 1001}, {"count"}, "1000 or less"),
    ({"every": 1, "count": None}, {"count"}, "leave it out"),
    ({"every": 1, "after": "x"}, {"after"}, "RFC 3339"),
    ({"every": 1, "after": NOON}, {"after"}, "not milliseconds"),
    ({"every": 1, "max_runs": 3}, {"max_runs"}, "unknown field"),
    ({"every": 1, "callback_url": "http://x/"}, {"callback_url"}, "unknown field"),
]


@pytest.mark.parametrize(("fields", "names", "advice"), BAD)
def test_a_bad_schedule_is_refused_by_name(api: Api, fields: dict[str, Any], names: set[str], advice: str) -> None:
    response = preview(api, **fields)
    assert (response.status, fields_of(response)) == (422, names)
    assert advice in message_of(response)


def test_a_viewer_may_preview_since_it_changes_nothing_and_a_worker_may_not(api: Api) -> None:
    assert preview(api.called_by(role="viewer"), cron="0 9 * * *").status == 200
    assert preview(api.called_by(role="worker"), cron="0 9 * * *").status == 403
