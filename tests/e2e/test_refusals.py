"""What the API of each home refuses, and that refusing changes nothing."""

import time
from typing import Any

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.gate_times import holds_once
from tests.e2e.homes import Api, Home

URL = "http://127.0.0.1:9/x"
REFUSALS: list[tuple[str, Any, str]] = [
    ("unknown field", {"callback_url": URL, "dealy": 3}, "dealy"),
    ("two times", {"callback_url": URL, "delay": 3, "at": 4102444800}, "delay"),
    ("at and cron", {"callback_url": URL, "cron": "* * * * *", "at": 4102444800}, "cron"),
    ("past the limits", {"callback_url": URL, "delay": 10**12}, "delay"),
    ("negative delay", {"callback_url": URL, "delay": -1}, "delay"),
    ("naive time", {"callback_url": URL, "at": "2031-01-01T00:00:00"}, "at"),
    ("url without scheme", {"callback_url": "example.com/x"}, "callback_url"),
    ("no target", {"delay": 3}, "target"),
    ("priority", {"callback_url": URL, "priority": "URGENT"}, "priority"),
    ("timeout", {"callback_url": URL, "timeout_seconds": 39_601}, "timeout_seconds"),
    ("long name", {"callback_url": URL, "name": "x" * 256}, "name"),
    ("payload too large", {"callback_url": URL, "payload": "x" * 1_048_577}, "payload"),
    ("bad JSON", b'{"callback_url": ', "body"),
    ("not an object", b"[1]", "body"),
]


@pytest.mark.parametrize(("body", "field"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_bad_input_is_refused_by_name_and_changes_nothing(home: Home, body: Any, field: str) -> None:
    def refuse() -> str:
        before = home.stored()
        status, answer = home.api.call("POST", "/v1/jobs", body)
        assert 400 <= status < 500, answer
        assert field in str(answer["error"]["details"])
        assert answer["error"]["message"]
        return "" if (found := home.stored()) == before else f"changed: {found ^ before}"

    holds_once(refuse)  # a recurring job of another test may get a run at any time


UNKNOWN = [("GET", "/nothing"), ("GET", "/v1/nothing"), ("PATCH", "/v1/jobs"), ("POST", "/v1/jobs/job_x/nothing")]


@pytest.mark.parametrize(("method", "path"), UNKNOWN)
def test_without_a_token_an_unknown_path_answers_like_any_other(home: Home, method: str, path: str) -> None:
    status, answer = Api(home.api.url, None).call(method, path)
    assert status == 401, answer
    assert set(answer["error"]) == {"code", "message", "details"}
    status, answer = home.api.call(method, path)
    assert (status, answer["error"]["code"]) in ((404, "not_found"), (405, "method_not_allowed"))


@pytest.mark.parametrize("token", [None, "", "wrong", "otd_" + "x" * 43], ids=["none", "empty", "wrong", "well-formed"])
def test_without_a_good_token_there_is_nothing(api: Api, token: str | None) -> None:
    stranger = Api(api.url, token)
    for method, path in (("POST", "/v1/jobs"), ("GET", "/v1/jobs/job_x"), ("GET", "/v1/jobs/job_x/status")):
        status, answer = stranger.call(method, path, {"callback_url": URL} if method == "POST" else None)
        assert status in (401, 403), answer
        assert set(answer["error"]) == {"code", "message", "details"}


def test_health_needs_no_token(api: Api) -> None:
    deadline = time.monotonic() + 150
    while (answer := Api(api.url, None).call("GET", "/v1/health"))[1]["status"] == "starting":  # the first tick comes
        assert time.monotonic() < deadline, answer
        time.sleep(api.poll_seconds)
    assert (answer[0], answer[1]["status"]) == (200, "ok")


def test_an_unknown_job_is_not_found(api: Api) -> None:
    status, answer = api.call("GET", "/v1/jobs/job_unknown/status")
    assert (status, answer["error"]["code"]) == (404, "not_found")


def test_another_tenants_job_answers_exactly_like_a_missing_one(home: Home) -> None:
    other = home.api_of("other")
    job = home.api.submit(callback_url=URL, delay=600)
    for path in (f"/v1/jobs/{job['job_id']}", f"/v1/jobs/{job['job_id']}/executions"):
        status, theirs = other.call("GET", path)
        missing_status, missing = other.call("GET", path.replace(job["job_id"], "job_missing"))
        assert status == missing_status == 404
        assert str(theirs).replace(job["job_id"], "") == str(missing).replace("job_missing", "")
    assert other.call("DELETE", f"/v1/jobs/{job['job_id']}")[0] == 404
    assert home.api.call("DELETE", f"/v1/jobs/{job['job_id']}")[0] == 200


def test_tokens_are_stored_hashed_only(deployment: Deployment) -> None:
    assert deployment.stack.token not in str(deployment.all_items())
