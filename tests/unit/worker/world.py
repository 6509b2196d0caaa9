"""A world whose time passes, and its API behind real HTTP, for tests of workers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from onthedot.access.ports import Principal
from onthedot.api.http import Request, Response
from onthedot.api.router import handle
from onthedot.core.clock import SystemClock
from onthedot.engines.sqlite.database import Database
from tests.builders import DEPLOYMENT, VirtualClock, World

PATIENCE = 60.0
TOKEN = "otd_a-secret-that-nobody-may-see"


class PassingClock(VirtualClock):
    """The machine's clock plus the time that a test adds."""

    def __init__(self) -> None:
        super().__init__(0)

    def now(self) -> int:
        return SystemClock().now() + self._now

    def sleep_until(self, instant: int) -> None:
        SystemClock().sleep_until(instant - self._now)


@contextmanager
def a_passing_world() -> Iterator[World]:
    """The embedded engine in memory, in real time that a test may move on."""
    clock = PassingClock()
    with Database() as database:
        yield World.on(database, clock, DEPLOYMENT)


@dataclass
class ApiServer:
    """The API of a world at a URL."""

    world: World
    url: str = ""
    answers: dict[str, list[int]] = field(default_factory=dict)
    """By a part of the path, the statuses that are answered instead, once each."""
    calls: list[str] = field(default_factory=list)
    role: str = "admin"
    """The role of the token."""

    def answer(self, request: Request) -> Response:
        self.calls.append(request.path)
        for part, statuses in self.answers.items():
            if part in request.path and statuses:
                return Response(statuses.pop(0), {"error": {"code": "scripted", "message": "as the test wants"}})
        return handle(self.world.engine, request)


@contextmanager
def serving(world: World) -> Iterator[ApiServer]:
    api = ApiServer(world)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
            principal = Principal("acme", api.role, "a worker") if known else None
            path, _, query = self.path.partition("?")
            request = Request(self.command, path, dict(parse_qsl(query)), dict(self.headers), body, principal)
            response = api.answer(request)
            content = response.text.encode()
            self.send_response(response.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - names of http.server

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)
