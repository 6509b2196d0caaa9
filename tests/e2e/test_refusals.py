"""What the API of each home refuses, and that refusing changes nothing."""

import time
import uuid
from typing import Any

from tests.e2e.deployment import Deployment
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


def test_bad_input_is_refused_by_name_and_stores_nothing(home: Home) -> None:
    api = home.api_of(f"refused-{uuid.uuid4()}")
    for name, body, field in REFUSALS:
        status, answer = api.call("POST", "/v1/jobs", body)
        assert 400 <= status < 500, (name, answer)
        assert field in str(answer["error"]["details"]), name
        assert answer["error"]["message"], name
    assert api.call("GET", "/v1/jobs")[1]["jobs"] == []


def test_without_a_good_token_there_is_nothing_not_even_an_unknown_path(api: Api) -> None:
    unknown = [("GET", "/nothing"), ("GET", "/v1/nothing"), ("PATCH", "/v1/jobs"), ("POST", "/v1/jobs/job_x/nothing")]
    known = [("POST", "/v1/jobs"), ("GET", "/v1/jobs/job_x"), ("GET", "/v1/jobs/job_x/status")]
    for token in (None, "", "wrong", "otd_" + "x" * 43):
        for method, path in (*known, *unknown):
            body = {"callback_url": URL} if method == "POST" else None
            status, answer = Api(api.url, token).call(method, path, body)
            assert status == 401 or (status == 403 and token), (token, path, answer)
            assert set(answer["error"]) == {"code", "message", "details"}
    for method, path in unknown:
        status, answer = api.call(method, path)
        assert (status, answer["error"]["code"]) in ((404, "not_found"), (405, "method_not_allowed"))


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
