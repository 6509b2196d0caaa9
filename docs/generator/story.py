"""Real requests and answers for the reference: a short story on a scheduler in memory, in virtual time."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from docs.generator.markdown import json_text

from onthedot.access.ports import Principal
from onthedot.api.http import Request
from onthedot.api.openapi import describe
from onthedot.api.route import RouteTable
from onthedot.api.router import handle
from onthedot.api.routes import ROUTES
from onthedot.core.clock import VirtualClock
from onthedot.core.slots import Deployment
from onthedot.engine import Engine
from onthedot.engines.sqlite.database import Database
from onthedot.wiring.sqlite import SqliteEngine

_ADMIN = Principal("acme", "admin", "ada")
SHOWN = [route for route in ROUTES if route.path in describe(ROUTES)["paths"]]
"""The routes of the API. The files of the console are none."""
WITHOUT_EXAMPLE = frozenset({"/openapi.json"})
"""Answers that are too long for a page."""
_KNOWN = RouteTable(ROUTES)
_SECRET = {"token": "otd_…", "secret": "whsec_…", "receipt": "…", "webhook-signature": "v1,…"}
"""Fields whose long values are shortened in the examples."""


@dataclass(frozen=True)
class Example:
    request: str
    answer: Any


@dataclass
class Teller:
    """A client that makes calls and keeps the first example of each route."""

    engine: Engine
    clock: VirtualClock
    told: dict[str, Example] = field(default_factory=dict)

    def call(self, method: str, path: str, body: Any = None, *, keep: bool = True, if_match: str = "") -> Any:
        """Make a call. It must succeed. Return the answer as it came."""
        place, _, query = path.partition("?")
        content = b"" if body is None else json.dumps(body).encode()
        headers = {"If-Match": if_match} if if_match else {}
        request = Request(method, place, dict(parse_qsl(query)), headers, content, _ADMIN)
        response = handle(self.engine, request)
        if response.status >= 400:
            raise AssertionError(f"{method} {path}: {response.body}")
        answer = json.loads(response.text)
        route, _ = _KNOWN.find(method, place)
        if keep:
            sent = "" if body is None else "\n\n" + json_text(_shown(body))
            self.told.setdefault(f"{method} {route.path}", Example(f"{method} {path}{sent}", _shown(answer)))
        return answer


def _shown(value: Any) -> Any:
    match value:
        case dict():
            return {key: _SECRET[key] if each and key in _SECRET else _shown(each) for key, each in value.items()}
        case list():
            return [_shown(each) for each in value]
    return value


def examples() -> Mapping[str, Example]:
    with _world() as teller:
        _jobs(teller)
        _many(teller)
        _workers(teller)
        _named(teller)
        _the_rest(teller)
        _transfer(teller)
        return teller.told


@contextmanager
def _world() -> Iterator[Teller]:
    clock = VirtualClock()
    with Database() as database:
        yield Teller(SqliteEngine.on(database, clock, Deployment(shards=1, lookahead=3, history_days=30)).engine, clock)


def _jobs(teller: Teller) -> None:
    remind = {"name": "remind-42", "callback_url": "https://example.com/remind", "delay": 600, "payload": {"user": 42}}
    job = teller.call("POST", "/v1/jobs", {**remind, "idempotency_key": "remind-42"})["job_id"]
    for path in ("", "/status", "/explain", "/executions"):
        teller.call("GET", f"/v1/jobs/{job}{path}")
    teller.call("PATCH", f"/v1/jobs/{job}", {"priority": "HIGH"}, if_match='"1"')
    report = {"name": "report", "cron": "0 9 * * mon-fri", "timezone": "Europe/Berlin"}
    recurring = teller.call("POST", "/v1/jobs", {**report, "callback_url": "https://example.com/report"})["job_id"]
    teller.call("POST", f"/v1/jobs/{recurring}/pause")
    teller.call("POST", f"/v1/jobs/{recurring}/resume")
    teller.call("POST", f"/v1/jobs/{recurring}/run", {"payload": {"day": "2026-02-27"}})
    window = {"from": "2026-02-23T00:00:00Z", "to": "2026-02-25T00:00:00Z"}
    teller.call("POST", f"/v1/jobs/{recurring}/backfill", window)
    teller.call("PUT", f"/v1/jobs/{job}/cancel")
    teller.call("DELETE", f"/v1/jobs/{job}")


def _many(teller: Teller) -> None:
    calls = [{"callback_url": "https://example.com/a", "delay": 60}, {"callback_url": "no URL"}]
    teller.call("POST", "/v1/jobs/batch", {"jobs": calls})
    teller.call("GET", "/v1/jobs?kind=recurring&name=rep")
    teller.call("POST", "/v1/jobs/bulk", {"action": "pause", "filter": {"kind": "recurring"}, "dry_run": True})
    nodes = [
        {"key": "extract", "callback_url": "https://example.com/extract"},
        {"key": "publish", "depends_on": ["extract"], "callback_url": "https://example.com/publish"},
    ]
    made = teller.call("POST", "/v1/workflows", {"name": "nightly", "cron": "0 2 * * *", "jobs": nodes})
    teller.call("GET", f"/v1/workflows/{made['workflow_id']}")
    pattern = {"source": ["shop"], "detail-type": ["order.paid"]}
    teller.call("POST", "/v1/jobs", {"on_event": pattern, "callback_url": "https://example.com/paid"})
    teller.call(
        "POST", "/v1/events", {"source": "shop", "detail_type": "order.paid", "detail": {"id": 7}, "id": "order-7"}
    )


def _workers(teller: Teller) -> None:
    """Play a pull worker: one run succeeds, one fails for good and is redriven."""
    send = {"target": {"type": "python", "handler": "send-email"}, "retry": {"max_retries": 0}}
    offer = {
        "capabilities": ["python", "python:send-email", "http"],
        "resources": {"concurrency": 4, "cpu": 2, "memory_mb": 4096},
    }
    worker = teller.call("POST", "/v1/workers/register", offer)["worker_id"]
    for name, error in (("welcome", None), ("goodbye", "no such mailbox")):
        teller.call("POST", "/v1/jobs", {"name": name, **send, "payload": {"to": "a@b.c"}}, keep=False)
        [run] = teller.call("POST", f"/v1/workers/{worker}/lease", {"max": 1})["runs"]
        place = f"/v1/executions/{run['execution_id']}"
        kept = {"worker_id": worker, "attempt": run["attempt"], "receipt": run["receipt"]}
        teller.clock.advance(0.25)
        teller.call("POST", f"{place}/heartbeat", kept)
        ended = {"status": "SUCCEEDED", "result": "sent"} if error is None else {"status": "FAILED", "error": error}
        teller.call("POST", f"{place}/complete", {**kept, **ended})
        teller.call("GET", place)
    teller.call("POST", f"/v1/workers/{worker}/heartbeat", {"running": []})
    teller.call("GET", "/v1/workers?status=ACTIVE")
    teller.call("GET", f"/v1/workers/{worker}")
    teller.call("GET", "/v1/executions?status=FAILED")
    [dead] = teller.call("GET", "/v1/dead-letters")["dead_letters"]
    teller.call("POST", "/v1/dead-letters/redrive", {"ids": [dead["execution_id"]]})
    later = teller.call("POST", "/v1/jobs", {**send, "delay": 3600}, keep=False)["job_id"]
    teller.call("POST", f"/v1/jobs/{later}/execute", {"worker_id": worker})


def _named(teller: Teller) -> None:
    """Make, list, show and delete the examples of things that have names."""
    for put in SHOWN:
        if put.example is not None:
            (name, body), place = put.example, put.path.rpartition("/")[0]
            teller.call("PUT", f"{place}/{name}", body)
            for method, path in (("GET", place), ("GET", put.path), ("DELETE", put.path)):
                if any((route.method, route.path) == (method, path) for route in SHOWN):
                    teller.call(method, path if path == place else f"{place}/{name}")


def _the_rest(teller: Teller) -> None:
    preview = {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "after": "2026-03-28T00:00:00Z", "count": 2}
    teller.call("POST", "/v1/schedules/preview", preview)
    teller.call("GET", "/v1/forecast?minutes=3")
    made = teller.call("POST", "/v1/tokens", {"tenant": "acme", "role": "viewer", "name": "dashboard"})
    teller.call("GET", "/v1/tokens?tenant=acme")
    teller.call("DELETE", f"/v1/tokens/{made['id']}")
    teller.call("GET", "/v1/signing-keys")
    teller.call("POST", "/v1/signing-keys/rotate", {"overlap_seconds": 86_400})
    for route in SHOWN:
        is_shown = route.path in WITHOUT_EXAMPLE or f"GET {route.path}" in teller.told or route.path == "/v1/export"
        if route.method == "GET" and "{" not in route.path and not is_shown:
            teller.call("GET", route.path)


def _transfer(teller: Teller) -> None:
    """Freeze, export and import into the same stage: the calls of `onthedot export` and `import`."""
    freeze = {"freeze_id": teller.call("POST", "/v1/stage/freeze")["freeze_id"]}
    teller.clock.advance(120)
    teller.call("GET", "/v1/export?only=running")
    teller.call("POST", "/v1/export/finish", freeze)
    teller.call("POST", "/v1/stage/thaw", {"force": True})
    with _world() as other:
        other.call("POST", "/v1/import/begin", freeze)
        other.clock.advance(120)
        other.call("POST", "/v1/import", {**freeze, "entries": [], "dry_run": True})
        other.call("POST", "/v1/import/release", freeze)
        teller.told.update(other.told)
