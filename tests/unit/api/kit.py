"""Calls to the API as tests make them, on the embedded engine in memory."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl

from onthedot.access.ports import Principal
from onthedot.api.http import Request, Response
from onthedot.api.router import handle
from onthedot.core.records import Record
from onthedot.engine import Engine
from onthedot.targets.types import PULLED
from tests.builders import World

URL = "https://example.com/hook"
ACME = Principal("acme", "admin", "a test")


@dataclass(frozen=True)
class Api:
    """The API of a world, called with the token of a principal or without one."""

    world: World
    principal: Principal | None = ACME
    parts: Mapping[str, Any] = field(default_factory=dict)
    """The parts of the engine that a test replaces."""

    @property
    def engine(self) -> Engine:
        return replace(self.world.engine, **self.parts)

    def on(self, **parts: Any) -> "Api":
        """The same API on an engine with other parts."""
        return replace(self, parts=parts)

    def called_by(self, tenant: str = "acme", role: str = "admin") -> "Api":
        return Api(self.world, Principal(tenant, role, "a test"))

    def anonymous(self) -> "Api":
        return Api(self.world, None)

    def call(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Response:
        request = Request(method, path, headers=headers or {}, body=body, principal=self.principal)
        return handle(self.engine, request)

    def get(self, path: str) -> Response:
        path, _, query = path.partition("?")
        return self.ask(path, dict(parse_qsl(query, keep_blank_values=True)))

    def ask(self, path: str, query: Mapping[str, str]) -> Response:
        return handle(self.engine, Request("GET", path, query, principal=self.principal))

    def pages(self, path: str, what: str, **query: Any) -> list[list[dict[str, Any]]]:
        """The entries of all pages of a list, page by page."""
        asked = {name: str(value) for name, value in query.items()}
        pages: list[list[dict[str, Any]]] = []
        while "cursor" not in asked or asked["cursor"] != "None":
            response = self.ask(path, asked)
            assert response.status == 200, response.body
            pages.append(response.body[what])
            assert len(pages) < 500, "it never ends"
            asked["cursor"] = str(response.body["next_cursor"])
        return pages

    def record(self, run_id: str) -> Record:
        """A run or a job as it is stored."""
        found = self.world.store.get(run_id)
        assert found is not None
        return found

    def send(self, method: str, path: str, /, headers: Mapping[str, str] | None = None, **fields: Any) -> Response:
        """A call with these fields as its body."""
        return self.call(method, path, json.dumps(fields).encode(), headers)

    def job(self, **fields: Any) -> str:
        """A job with these fields that is accepted; its id."""
        response = self.submit(**fields)
        assert response.status == 202, response.body
        return str(response.body["job_id"])

    def submit(self, headers: Mapping[str, str] | None = None, /, **fields: Any) -> Response:
        """A job with these fields, and with a callback unless they say where to go."""
        where = {} if {"target", "callback_url"} & fields.keys() else {"callback_url": URL}
        return self.post({**where, **fields}, headers)

    def post(self, body: Any, headers: Mapping[str, str] | None = None) -> Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.call("POST", "/v1/jobs", content, headers)

    def execution(self, run_id: str) -> Any:
        return self.get(f"/v1/executions/{run_id}").body

    def outcomes(self, run_id: str) -> list[str]:
        """What became of the attempts of a run."""
        return [attempt["outcome"] for attempt in self.execution(run_id)["attempts"]]

    def stored(self) -> list[str]:
        """Everything that is stored anywhere: runs, messages, blobs."""
        with self.world.database.transaction() as connection:
            return [str(tuple(row)) for table in _TABLES for row in connection.execute(f"SELECT * FROM {table}")]


_TABLES = ("runs", "messages", "blobs")


class Instead:
    """A part of an engine, some of it replaced."""

    def __init__(self, part: Any) -> None:
        self.part = part

    def __getattr__(self, name: str) -> Any:
        return getattr(self.part, name)


@dataclass(frozen=True)
class PullWorker:
    """A worker that has only a token, as tests play it."""

    api: Api
    worker_id: str

    def lease(self, **wanted: Any) -> list[dict[str, Any]]:
        return list(self.leased(**wanted)["runs"])

    def leased(self, **wanted: Any) -> dict[str, Any]:
        response = self.api.send("POST", f"/v1/workers/{self.worker_id}/lease", **wanted)
        assert response.status == 200, response.body
        return dict(response.body)

    def take(self, **wanted: Any) -> dict[str, Any]:
        """The one run that there is to have."""
        (run,) = self.lease(**wanted)
        return run

    def keep(self, run: Mapping[str, Any], **fields: Any) -> Response:
        said = {"attempt": run["attempt"], "worker_id": self.worker_id, "receipt": run["receipt"], **fields}
        return self.api.send("POST", f"/v1/executions/{run['execution_id']}/heartbeat", **said)

    def complete(self, run: Mapping[str, Any], status: str = "SUCCEEDED", **fields: Any) -> Response:
        said = {"status": status, "attempt": run["attempt"], "receipt": run["receipt"], **fields}
        return self.api.send("POST", f"/v1/executions/{run['execution_id']}/complete", **said)

    def take_back(self) -> None:
        """Whatever is leased is lost: its leases end in silence, and this worker, the next to ask, takes it back."""
        self.api.world.clock.advance(35)
        assert self.lease() == []
        self.beat()

    def beat(self, **load: Any) -> Response:
        return self.api.send("POST", f"/v1/workers/{self.worker_id}/heartbeat", **load)


def a_worker(api: Api, *capabilities: str, **fields: Any) -> PullWorker:
    """A registered worker that can do what pull workers usually do, and this."""
    offered = [*sorted(PULLED), *capabilities]
    response = api.send("POST", "/v1/workers/register", capabilities=offered, **fields)
    assert response.status == 201, response.body
    return PullWorker(api, str(response.body["worker_id"]))


SHELL = {"type": "shell", "argv": ["true"]}
"""What only pull workers do."""


def fields_of(response: Response) -> set[str]:
    return {detail["field"] for detail in response.body["error"]["details"]}


def message_of(response: Response) -> str:
    return str(response.body["error"]["details"][0]["message"])
