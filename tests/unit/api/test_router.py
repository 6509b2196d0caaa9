"""Routes, roles, the description, and what a failure inside looks like from outside."""

import json
import logging
import re
from typing import Any, NoReturn
from urllib.parse import quote, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.api.errors import ApiError
from onthedot.api.http import Request
from onthedot.api.route import Route, RouteTable
from onthedot.api.router import handle
from onthedot.api.routes import ROUTES
from onthedot.core.errors import OnthedotError, Unavailable
from tests.unit.api.kit import ACME, Api


class BrokenStore:
    """A store on which every call fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, _: str) -> Any:
        def fail(*_: object) -> NoReturn:
            raise self._error

        return fail


def on_broken_store(api: Api, error: Exception, request: Request) -> Any:
    return handle(api.on(store=BrokenStore(error)).engine, request)


def test_the_description_has_the_refusal_of_unknown_parameters(api: Api) -> None:
    described = api.get("/openapi.json").body["paths"]
    without = [
        path for path, calls in described.items() if any("422" not in call["responses"] for call in calls.values())
    ]
    assert without == ["/v1/health"]


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/jobs/", "/v1/jobs//status", "/v2/jobs", "/v1/jobs/a/b", "/v1/jobs/é", ""]
)
def test_an_unknown_path_is_not_found(api: Api, path: str) -> None:
    response = api.get(path)
    assert (response.status, response.body["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("PUT", "/v1/jobs", "GET, POST"), ("PUT", "/v1/jobs/job_x", "DELETE, GET, PATCH"), ("POST", "/v1/health", "GET")],
)
def test_a_wrong_method_is_told_the_right_ones(api: Api, method: str, path: str, allowed: str) -> None:
    response = api.call(method, path)
    assert (response.status, response.headers["Allow"]) == (405, allowed)


def test_every_other_route_needs_a_token(api: Api) -> None:
    for route in ROUTES:
        response = api.anonymous().call(route.method, route.path.replace("{id}", "job_x"))
        refused = (response.status, response.headers.get("WWW-Authenticate")) == (401, "Bearer")
        assert refused is not route.is_open, route.path


@pytest.mark.parametrize("method", ["GET", "PATCH", "HEAD", "OPTIONS", "NONSENSE"])
@pytest.mark.parametrize(
    "path", ["/", "/v1/nothing", "/v1/jobs", "/v1/jobs/job_x", "/v1/gates/%ff", "/consoles", "/v1/console"]
)
def test_without_a_token_no_path_tells_whether_it_exists(api: Api, method: str, path: str) -> None:
    response = api.anonymous().call(method, path)
    assert (response.status, response.body["error"]["code"]) == (401, "unauthorized")


def test_every_answer_names_its_request(api: Api) -> None:
    request = Request("GET", "/v1/health", request_id="r1")
    response = handle(api.world.engine, request)
    assert response.headers["X-Request-Id"] == "r1"
    assert response.headers["Content-Type"] == "application/json"


def test_an_unexpected_error_is_logged_and_not_shown(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    request = Request("GET", "/v1/jobs/job_x", principal=ACME, request_id="r1")
    response = on_broken_store(api, RuntimeError("secret detail"), request)
    assert response.status == 500
    assert "r1" in response.body["error"]["message"]
    assert "secret" not in response.text
    assert [(record.message, record.levelno) for record in caplog.records] == [("request_failed", logging.ERROR)]


def test_a_domain_error_without_an_answer_is_an_unexpected_one(api: Api) -> None:
    request = Request("GET", "/v1/jobs/job_x", principal=ACME)
    assert on_broken_store(api, OnthedotError("x"), request).status == 500


def test_what_is_unavailable_says_when_to_come_back(api: Api) -> None:
    request = Request("GET", "/v1/jobs/job_x", principal=ACME)
    response = on_broken_store(api, Unavailable("throttled by table x"), request)
    assert (response.status, response.headers["Retry-After"]) == (503, "1")
    assert "table" not in response.text


def test_the_description_is_json_and_lists_every_route(api: Api) -> None:
    response = api.anonymous().get("/openapi.json")
    document = json.loads(response.text)
    listed = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert listed == {(route.method, route.path) for route in ROUTES if not route.is_page}
    assert document["openapi"].startswith("3.1")


def test_every_operation_has_its_own_name(api: Api) -> None:
    paths = api.get("/openapi.json").body["paths"]
    names = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len(set(names)) == len(names)


TABLE = RouteTable(ROUTES)
SEGMENTS = [*{segment for route in ROUTES for segment in route.path.split("/")}, "job_x", "a.b:c-d", "é", "a b", "x\n"]


def _quoted(text: str) -> str:
    return quote(text, safe="/:", errors="replace")


PATHS = st.one_of(
    st.sampled_from([route.path.replace("{id}", "job_x") for route in ROUTES]),
    st.builds("/v1/{}/{}".format, st.sampled_from(["gates", "limits"]), st.text(max_size=20).map(_quoted)),
    st.lists(st.sampled_from([*SEGMENTS, "y" * 128, "y" * 129]), max_size=7).map("/".join),
    st.text(max_size=20),
)


def matched(route: Route, path: str) -> str | None:
    """The id or the text in the path, by a regular expression made of the route's path."""
    pattern = re.escape(route.path).replace(r"\{id\}", "([A-Za-z0-9_.:-]{1,128})")
    pattern = re.sub(r"\\\{(?:name|tenant|file)\\\}", r"((?s:.+))", pattern)
    found = re.fullmatch(pattern, path, re.ASCII)
    return None if found is None else unquote("".join(found.groups()))


@given(path=PATHS, method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]))
@settings(max_examples=1_000)
def test_a_route_is_found_as_if_each_were_matched_by_its_pattern(path: str, method: str) -> None:
    expected = {route.method: (route, found) for route in ROUTES if (found := matched(route, path)) is not None}
    if method in expected:
        assert TABLE.find(method, path) == expected[method]
        return
    with pytest.raises(ApiError) as refused:
        TABLE.find(method, path)
    assert refused.value.status == (405 if expected else 404)
    assert refused.value.headers.get("Allow", "") == ", ".join(sorted(expected))


@pytest.mark.parametrize(
    ("encoded", "text"),
    [
        ("customer:42", "customer:42"),
        ("customer%3A42", "customer:42"),
        ("customer:a%2Fb", "customer:a/b"),
        ("customer:a/b", "customer:a/b"),
        ("customer:100%25", "customer:100%"),
        ("customer:100%", "customer:100%"),
        ("customer:%C3%BC%20%F0%9F%98%80", "customer:ü 😀"),
        ("c:" + "%C3%BC" * 128, "c:" + "ü" * 128),
    ],
)
def test_a_text_at_the_end_of_a_path_may_have_any_characters(encoded: str, text: str) -> None:
    assert TABLE.find("GET", f"/v1/gates/{encoded}")[1] == text


@pytest.mark.parametrize("encoded", ["", "%FF", "c:%ED%A0%80", "c:\udc80", "y" * 257])
def test_a_text_that_is_none_is_an_unknown_path(encoded: str) -> None:
    with pytest.raises(ApiError) as refused:
        TABLE.find("GET", f"/v1/gates/{encoded}")
    assert refused.value.status == 404


def test_a_fixed_path_also_has_the_methods_of_the_path_with_an_id() -> None:
    assert TABLE.find("POST", "/v1/jobs/batch")[1] == ""
    assert TABLE.find("GET", "/v1/jobs/batch")[1] == "batch"
