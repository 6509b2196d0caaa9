"""Routes, roles and what a failure inside looks like from outside."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from onthedot.api.http import Request
from onthedot.api.router import handle
from onthedot.api.routes import ROUTES
from onthedot.core.errors import OnthedotError, Unavailable
from onthedot.core.ports import RunStore
from onthedot.jobs.spec import CHANGEABLE
from tests.builders import a_world
from tests.unit.api.kit import ACME, Api


@pytest.fixture
def api() -> Iterator[Api]:
    with a_world() as world:
        yield Api(world)


class BrokenStore:
    """A store on which every call fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, _: str) -> Any:
        def fail(*_: object) -> NoReturn:
            raise self._error

        return fail


def on_broken_store(api: Api, error: Exception, request: Request) -> Any:
    store: RunStore = BrokenStore(error)
    return handle(replace(api.world.engine, store=store), request)


def test_the_description_of_health_has_the_answer_of_late_ticks(api: Api) -> None:
    answers = api.get("/openapi.json").body["paths"]["/v1/health"]["get"]["responses"]
    assert set(answers) == {"200", "500", "503"}
    assert answers["503"]["content"] == answers["200"]["content"]


def test_the_description_has_the_refusal_of_unknown_parameters(api: Api) -> None:
    described = api.get("/openapi.json").body["paths"]
    without = [
        path for path, calls in described.items() if any("422" not in call["responses"] for call in calls.values())
    ]
    assert without == ["/v1/health"]


def test_health_needs_no_token(api: Api) -> None:
    response = api.anonymous().get("/v1/health")
    assert (response.status, response.body["status"]) == (200, "starting")


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


@pytest.mark.parametrize("route", [route for route in ROUTES if not route.is_open])
def test_every_other_route_needs_a_token(api: Api, route: Any) -> None:
    response = api.anonymous().call(route.method, route.path.replace("{id}", "job_x"))
    assert (response.status, response.headers["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("method", ["GET", "PATCH", "HEAD", "OPTIONS", "NONSENSE"])
@pytest.mark.parametrize(
    "path", ["/", "/v1/nothing", "/v1/jobs", "/v1/jobs/job_x", "/v1/gates/%ff", "/consoles", "/v1/console"]
)
def test_without_a_token_no_path_tells_whether_it_exists(api: Api, method: str, path: str) -> None:
    response = api.anonymous().call(method, path)
    assert (response.status, response.body["error"]["code"]) == (401, "unauthorized")


@pytest.mark.parametrize(
    ("role", "read", "write"),
    [("viewer", 200, 403), ("operator", 200, 202), ("admin", 200, 202), ("stranger", 403, 403), ("", 403, 403)],
)
def test_a_role_may_do_what_it_may(api: Api, role: str, read: int, write: int) -> None:
    job_id = api.submit().body["job_id"]
    caller = api.called_by(role=role)
    assert caller.get(f"/v1/jobs/{job_id}").status == read
    assert caller.submit().status == write


def test_a_viewer_previews_a_schedule_because_that_changes_nothing(api: Api) -> None:
    assert api.called_by(role="viewer").send("POST", "/v1/schedules/preview", cron="0 9 * * *").status == 200
    assert api.called_by(role="worker").send("POST", "/v1/schedules/preview", cron="0 9 * * *").status == 403


def test_a_viewer_deletes_nothing(api: Api) -> None:
    job_id = api.submit().body["job_id"]
    assert api.called_by(role="viewer").call("DELETE", f"/v1/jobs/{job_id}").status == 403
    assert api.get(f"/v1/jobs/{job_id}").status == 200


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


def test_every_reference_of_the_description_leads_somewhere(api: Api) -> None:
    document = api.get("/openapi.json").body
    names = {ref.rsplit("/", 1)[1] for ref in references(document)}
    assert names <= document["components"]["schemas"].keys()
    assert {"JobFields", "JobView", "ErrorView"} <= names


def test_the_description_offers_no_null_that_would_be_refused(api: Api) -> None:
    fields = api.get("/openapi.json").body["components"]["schemas"]["JobFields"]["properties"]
    assert "null" not in {
        choice.get("type") for field in fields.values() for choice in (field, *field.get("anyOf", ()))
    }
    assert fields["timeout_seconds"]["maximum"] == 39_600
    assert (fields["description"]["type"], fields["description"]["maxLength"]) == ("string", 1_000)


def test_a_change_offers_null_where_it_clears_something(api: Api) -> None:
    fields = api.get("/openapi.json").body["components"]["schemas"]["PatchFields"]["properties"]
    nullable = {name for name, field in fields.items() if {"type": "null"} in field.get("anyOf", ())}
    assert nullable == {field.name for field in CHANGEABLE if field.null}
    assert not [name for name, field in fields.items() if name != "payload" and "default" in field]


def test_the_description_names_what_may_be_sent_besides_the_body(api: Api) -> None:
    paths = api.get("/openapi.json").body["paths"]
    parameters = {
        (method, path): {one["name"] for one in operation["parameters"]}
        for path, methods in paths.items()
        for method, operation in methods.items()
    }
    assert parameters["post", "/v1/jobs"] == {"Idempotency-Key"}
    assert parameters["patch", "/v1/jobs/{id}"] == {"id", "If-Match"}
    assert parameters["put", "/v1/gates/{name}"] == {"name"}
    assert parameters["delete", "/v1/limits/{tenant}"] == {"tenant"}
    assert parameters["get", "/v1/jobs/{id}/executions"] == {"id", "limit", "cursor"}
    assert parameters["get", "/v1/forecast"] == {"minutes"}


def test_every_operation_has_its_own_name(api: Api) -> None:
    paths = api.get("/openapi.json").body["paths"]
    names = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len(set(names)) == len(names)


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for child in node.values():
            yield from references(child)
    elif isinstance(node, list):
        for child in node:
            yield from references(child)
