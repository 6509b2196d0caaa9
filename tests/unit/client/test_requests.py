"""The requests that the client makes of a caller's arguments."""

from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Any, get_args, get_type_hints
from zoneinfo import ZoneInfo

import pytest

from onthedot.api.core.suggestions import field_names
from onthedot.client import requests
from onthedot.client.options import ChangeOptions, JobOptions, PreviewOptions, WorkflowOptions
from onthedot.client.requests import job_request
from onthedot.jobs.shapes import JobFields, NodeFields, PatchFields, WorkflowFields
from onthedot.jobs.spec import CHANGEABLE
from onthedot.schedules.api import PreviewFields

CLEARABLE = {field.name for field in CHANGEABLE if field.null}
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


def test_the_options_are_the_fields_of_the_api() -> None:
    given_otherwise = {"callback_url", "payload"}
    of_http = {"url", "method", "headers"}
    fields = {*field_names(JobFields), *field_names(NodeFields)}
    assert set(JobOptions.__annotations__) == fields - given_otherwise | of_http
    assert set(WorkflowOptions.__annotations__) == set(field_names(WorkflowFields)) - {"jobs"}
    assert set(PreviewOptions.__annotations__) == set(field_names(PreviewFields))
    assert set(ChangeOptions.__annotations__) == set(field_names(PatchFields)) - {"callback_url"} | of_http | {
        "handler"
    }


def test_an_option_of_a_change_has_the_type_that_it_has_for_a_new_job() -> None:
    new, changed = get_type_hints(JobOptions), get_type_hints(ChangeOptions)
    assert {name for name in changed if NoneType in get_args(changed[name])} == CLEARABLE
    for name in new.keys() & changed.keys():
        assert changed[name] == (new[name] | None if name in CLEARABLE else new[name]), name


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
    with pytest.raises(ValueError, match="empty"):
        requests.get("")


def test_a_large_batch_is_sent_in_parts() -> None:
    parts = requests.batches(job_request("a") for _ in range(1001))
    assert [len(part.body["jobs"]) for part in parts] == [500, 500, 1]
