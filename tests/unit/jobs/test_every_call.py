"""Rules of all calls: another tenant's job is not there, cursors are good for their own list, queries are strict."""

from typing import Any

import pytest

from onthedot.api.http import Response
from onthedot.api.route import Route
from onthedot.api.routes import ROUTES
from onthedot.jobs import bulk, redrive
from tests.unit.api.kit import SHELL, Api, a_worker, fields_of

OF_JOBS = [route for route in ROUTES if route.path.startswith("/v1/jobs/{id}")]
BODIES: dict[str, dict[str, Any]] = {"change": {"payload": "x" * 5000}, "fill_back": {"from": 1, "to": 2}}


@pytest.mark.parametrize("route", OF_JOBS, ids=lambda route: f"{route.method} {route.path}")
def test_anothers_job_and_a_run_are_answered_like_a_missing_job(api: Api, route: Route) -> None:
    job_id = api.job(every=10)
    run_id = api.get(f"/v1/jobs/{job_id}/executions").body["executions"][0]["execution_id"]

    def call(caller: Api, found_id: str) -> Response:
        to_worker = {"worker_id": a_worker(caller).worker_id} if route.action.__name__ == "execute" else {}
        body = {**BODIES.get(route.action.__name__, {}), **to_worker}
        return caller.send(route.method, route.path.replace("{id}", found_id), **body)

    before = api.stored()
    missing = call(api, "job_" + "a" * 26)
    assert (missing.status, missing.body["error"]["code"]) == (404, "not_found")
    for found in (call(api.called_by("other"), job_id), call(api, run_id)):
        assert (found.status, found.body) == (404, missing.body)
    assert api.stored() == before


def ask(api: Api, method: str, path: str, asked: dict[str, Any]) -> Response:
    if method == "POST":
        return api.send(method, path, **asked)
    return api.ask(path, {name: str(value) for name, value in asked.items() if value is not None})


Call = tuple[str, str, dict[str, Any], list[dict[str, Any]]]
PAGED: list[Call] = [
    ("GET", "/v1/jobs", {"name": "a", "limit": 1}, [{"name": "b"}, {"name": None}]),
    ("GET", "/v1/executions", {"status": "FAILED", "limit": 1}, [{"status": "RUNNING"}]),
    ("GET", "/v1/dead-letters", {"name": "a", "limit": 1}, [{"name": None}, {"cause": "boom"}]),
    (
        "POST",
        "/v1/jobs/bulk",
        {"action": "pause", "filter": {"name": "a"}},
        [{"action": "delete"}, {"filter": {"name": "b"}}, {"dry_run": True}, {"filter": None, "ids": ["job_a"]}],
    ),
    (
        "POST",
        "/v1/dead-letters/redrive",
        {"name": "a", "dry_run": True},
        [{"dry_run": False}, {"name": "b"}, {"cause": "boom"}],
    ),
]
"""A call, what it asks for, and what makes it another call."""


@pytest.mark.parametrize("call", PAGED, ids=lambda call: call[1])
def test_a_cursor_is_good_for_the_same_call_of_its_tenant_only(
    api: Api, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    method, path, asked, others = call
    monkeypatch.setattr(bulk, "STEP", 1)
    monkeypatch.setattr(redrive, "PAGE", 1)
    monkeypatch.setattr(redrive, "MOST_LOOKED_AT", 1)
    worker = a_worker(api)
    for _ in range(3):
        api.job(name="a", target=SHELL, retry={"max_retries": 0})
        worker.complete(worker.take(), "FAILED", error="boom")
        api.world.clock.advance(1)
    cursor = ask(api, method, path, asked).body["next_cursor"]
    before = api.stored()
    for caller, fields in ((api.called_by("other"), asked), *((api, {**asked, **other}) for other in others)):
        sent = {name: value for name, value in fields.items() if value is not None}
        refused = ask(caller, method, path, {**sent, "cursor": cursor})
        assert (refused.status, fields_of(refused)) == (422, {"cursor"}), fields
    assert api.stored() == before
    assert ask(api, method, path, {**asked, "cursor": cursor}).status < 300


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/jobs?limit=0", "limit"),
        ("/v1/jobs?limit=101", "limit"),
        ("/v1/jobs?colour=red", "colour"),
        ("/v1/jobs?kind=stamped", "kind"),
        ("/v1/jobs?status=DELETED", "status"),
        ("/v1/jobs?priority=URGENT", "priority"),
        ("/v1/jobs?name=", "name"),
        ("/v1/jobs?tag=", "tag"),
        ("/v1/jobs?workflow=%20", "workflow"),
        ("/v1/jobs?cursor=x", "cursor"),
        ("/v1/jobs?cursor=", "cursor"),
        ("/v1/executions", "job_id"),
        ("/v1/executions?status=PENDING", "status"),
        ("/v1/executions?status=running", "status"),
        ("/v1/executions?job_id=a/b", "job_id"),
        ("/v1/executions?worker_id=", "worker_id"),
        ("/v1/dead-letters?from=soon", "from"),
        ("/v1/dead-letters?from=2026-03-01T12:00:00", "from"),
        ("/v1/dead-letters?to=-5", "to"),
        ("/v1/dead-letters?from=2026-03-01T12:00:00Z&to=2026-03-01T12:00:00Z", "to"),
        ("/v1/dead-letters?cause=", "cause"),
        ("/v1/dead-letters?by=day", "by"),
        ("/v1/dead-letters?by=cause&cursor=x", "cursor"),
        ("/v1/forecast?minutes=0", "minutes"),
        ("/v1/forecast?minutes=1501", "minutes"),
        ("/v1/forecast?minutes=x", "minutes"),
    ],
)
def test_a_bad_query_is_refused_by_name(api: Api, path: str, field: str) -> None:
    response = api.get(path)
    assert (response.status, fields_of(response)) == (422, {field})
