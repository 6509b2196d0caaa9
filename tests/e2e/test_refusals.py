"""What the API of each home refuses, and that refusing changes nothing."""

import uuid
from typing import Any

from tests.e2e.homes import Api, Home

URL = "http://127.0.0.1:9/x"
REFUSALS: list[tuple[str, Any, str]] = [
    ("unknown field", {"callback_url": URL, "dealy": 3}, "dealy"),
    ("payload too large", {"callback_url": URL, "payload": "x" * 1_048_577}, "payload"),
    ("bad JSON", b'{"callback_url": ', "body"),
    ("not an object", b"[1]", "body"),
]
"""One for each way on which a body is read. The bounds of the fields are tested on the embedded engine."""


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
