"""The requests that the client makes of a caller's arguments."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from onthedot.client import InvalidRequest, requests
from onthedot.client.requests import job_request

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_handler_a_url_or_a_target_says_what_runs() -> None:
    assert job_request("send-email", {"to": "a"}) == {
        "target": {"type": "python", "handler": "send-email"},
        "payload": {"to": "a"},
    }
    assert job_request(url="https://x/") == {"callback_url": "https://x/"}
    assert job_request(url="https://x/", method="PUT", headers={"A": "b"}) == {
        "target": {"type": "http", "url": "https://x/", "method": "PUT", "headers": {"A": "b"}}
    }
    assert job_request(target={"type": "shell", "command": ["ls"]})["target"]["command"] == ["ls"]


@pytest.mark.parametrize(
    "what", [{}, {"handler": "a", "url": "https://x/"}, {"url": "https://x/", "target": {"type": "http"}}]
)
def test_exactly_one_of_them_is_needed(what: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a handler, url= or target="):
        job_request(**what)


def test_headers_need_a_url() -> None:
    with pytest.raises(ValueError, match="only with url="):
        job_request("send-email", headers={"A": "b"})


def test_times_and_durations_become_what_the_api_takes() -> None:
    fields = job_request(
        "a",
        start_at=NOON,
        end_at="2027-01-01T00:00:00Z",
        every=timedelta(minutes=5),
        retry=2,
        jitter_seconds=3,
    )
    assert fields["start_at"] == "2026-03-01T12:00:00+00:00"
    assert fields["end_at"] == "2027-01-01T00:00:00Z"
    assert (fields["every"], fields["retry"], fields["jitter_seconds"]) == (300, {"max_retries": 2}, 3)
    assert job_request("a", delay=timedelta(seconds=1.5))["delay"] == 1.5
    assert job_request("a", at=NOON.astimezone(ZoneInfo("Europe/Berlin")))["at"] == "2026-03-01T13:00:00+01:00"
    assert job_request("a", every="rate(5 minutes)") == {**job_request("a"), "every": "rate(5 minutes)"}


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="at has no time zone"):
        job_request("a", at=NOON.replace(tzinfo=None))
    with pytest.raises(ValueError, match="since has no time zone"):
        requests.dead_letter_causes(20, {"since": NOON.replace(tzinfo=None)})
    local = job_request("a", at=NOON.replace(tzinfo=None), timezone="Europe/Berlin")
    assert (local["at"], local["timezone"]) == ("2026-03-01T12:00:00", "Europe/Berlin")


def test_an_interval_of_part_of_a_second_is_refused() -> None:
    with pytest.raises(ValueError, match="whole seconds"):
        job_request("a", every=timedelta(milliseconds=1500))


def test_a_wrong_option_is_refused_with_the_right_one() -> None:
    with pytest.raises(TypeError, match="unexpected option 'idempotencykey'; did you mean 'idempotency_key'"):
        job_request("a", idempotencykey="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"unexpected option .zzz.$"):
        requests.preview({"zzz": 1})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(TypeError, match="did you mean 'since'"):
        requests.dead_letters(None, {"sinse": "1h"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="did you mean 'status'"):
        requests.list_jobs({"stauts": "FAILED"})  # type: ignore[typeddict-unknown-key]


def test_a_change_sends_the_fields_that_are_given() -> None:
    operation = requests.change("job_1", {"every": timedelta(minutes=5), "end_at": None, "retry": 2, "payload": None})
    assert (operation.method, operation.path, operation.headers) == ("PATCH", "/v1/jobs/job_1", {})
    assert operation.body == {"every": 300, "end_at": None, "retry": {"max_retries": 2}, "payload": None}
    assert requests.change("job_1", {"name": "x"}, 3).headers == {"If-Match": '"3"'}
    assert requests.change("job_1", {"handler": "a"}).body == {"target": {"type": "python", "handler": "a"}}
    assert requests.change("job_1", {"url": "https://x/", "method": "PUT"}).body["target"]["method"] == "PUT"
    assert requests.change("job_1", {"url": "https://x/"}).body == {"callback_url": "https://x/"}


def test_a_change_refuses_options_that_do_not_exist_or_do_not_go_together() -> None:
    with pytest.raises(TypeError, match=r"change\(\) got an unexpected option 'crom'; did you mean 'cron'"):
        requests.change("job_1", {"crom": "* * * * *"})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(ValueError, match="only one of them"):
        requests.change("job_1", {"handler": "a", "url": "https://x/"})
    with pytest.raises(ValueError, match="only with url="):
        requests.change("job_1", {"headers": {"A": "b"}})
    with pytest.raises(ValueError, match="at has no time zone"):
        requests.change("job_1", {"at": NOON.replace(tzinfo=None)})


def test_an_id_is_one_part_of_a_path() -> None:
    assert requests.get("a/../b?c").path == "/v1/jobs/a%2F..%2Fb%3Fc"
    assert requests.gate("customer:4/2").path == "/v1/gates/customer:4%2F2"
    for make in (requests.get, requests.gate, requests.execution):
        with pytest.raises(ValueError, match="empty"):
            make("")


def test_a_large_batch_is_sent_in_parts() -> None:
    parts = requests.batches(job_request("a") for _ in range(1001))
    assert [len(part.body["jobs"]) for part in parts] == [500, 500, 1]


@pytest.mark.parametrize("options", [{}, {"dry_run": True}, {"cursor": "abc"}, {"options": {"name": None}}])
def test_a_redrive_must_say_which(options: Any) -> None:
    with pytest.raises(InvalidRequest, match="everything=True") as caught:
        requests.redrive(None, **options)
    assert (caught.value.code, [one.field for one in caught.value.details]) == ("invalid_request", ["ids"])


def test_options_with_other_names_get_those_of_the_api() -> None:
    assert requests.redrive(None, everything=True).body == {"all": True}
    chosen: Any = {"since": NOON, "until": "2027-01-01T00:00:00Z", "job": "job_1", "cause": "HTTP 400"}
    query = requests.dead_letters("c", chosen).query
    assert query == {
        "from": "2026-03-01T12:00:00+00:00",
        "to": "2027-01-01T00:00:00Z",
        "job_id": "job_1",
        "cause": "HTTP 400",
        "limit": "100",
        "cursor": "c",
    }
    assert requests.backfill("job_1", 0, NOON, 100, "LOW").body == {
        "from": 0,
        "to": "2026-03-01T12:00:00+00:00",
        "limit": 100,
        "priority": "LOW",
    }


def test_what_is_not_chosen_is_left_to_the_api() -> None:
    assert requests.statistics(None, None, None, None).query == {}
    assert requests.statistics(NOON, None, 60, None).query == {"from": "2026-03-01T12:00:00+00:00", "step": "60"}
    assert requests.workers(None).query == {}
