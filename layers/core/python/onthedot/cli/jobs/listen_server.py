"""A small HTTP server that answers 200 to every request and puts each one into a queue. For `onthedot listen`."""

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from socket import AF_INET, AF_INET6
from typing import Any, Final

from onthedot.api.core.times import parse_instant
from onthedot.clock import SystemClock

MAX_BODY: Final = 2 * 2**20
"""Bytes. A job's payload has at most 1 MiB."""
MOST_CONNECTIONS: Final = 64
QUIET_SECONDS: Final = 10.0
"""The server closes a connection that sends nothing for this long."""
_LOOK_SECONDS: Final = 0.5
_ANSWER: Final = b'{"received": true}\n'


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request that arrived."""

    at: int
    """When its headers had arrived, in epoch milliseconds."""
    method: str
    path: str
    job_id: str | None
    run_id: str | None
    attempt: int | None
    fire_at: int | None
    body: bytes

    @property
    def lateness_ms(self) -> int | None:
        """The milliseconds from the fire time to the arrival. None for a request without a fire time."""
        return None if self.fire_at is None else self.at - self.fire_at

    @property
    def payload(self) -> Any:
        """The body as JSON, or as text when it is no JSON. None when it is empty."""
        text = self.body.decode("utf-8", "replace")
        try:
            return json.loads(text) if text else None
        except (ValueError, RecursionError):
            return text


class ListenServer(ThreadingHTTPServer):
    """A server with a thread for each connection, up to a bound. Further connections are closed at once."""

    daemon_threads = True

    def __init__(self, host: str, port: int, refused: Callable[[str], None]) -> None:
        """Bind the address. Raise OSError when that fails. `refused` gets a line for each request that is no HTTP."""
        self.address_family = AF_INET6 if ":" in host else AF_INET
        self.refused = refused
        self._arrivals: Queue[Arrival] = Queue(MOST_CONNECTIONS)
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Bind the address. The base class would also look up this machine's name, which may take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    @property
    def url(self) -> str:
        """The URL under which a job can call this server."""
        host = str(self.server_address[0])
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve in another thread during the `with` block, then close the address."""
        threading.Thread(target=self.serve_forever, args=(_LOOK_SECONDS / 10,), daemon=True).start()
        try:
            yield
        finally:
            self.shutdown()
            self.server_close()

    def next_arrival(self) -> Arrival:
        """Wait for the next request. Wait in short steps, so that Ctrl-C ends the wait on every platform."""
        while True:
            try:
                return self._arrivals.get(timeout=_LOOK_SECONDS)
            except Empty:
                continue

    def put(self, arrival: Arrival) -> None:
        """Queue a request to be shown. Wait while too many are queued: the reader of the output may be slow."""
        self._arrivals.put(arrival)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for the connection, or close it when there are too many."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection, then count it as closed."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error: the client closed the connection or sent nothing for too long."""


class _Handler(BaseHTTPRequestHandler):
    """The handler of one connection: it reads a request, answers it and queues it."""

    server: ListenServer
    protocol_version = "HTTP/1.1"
    timeout = QUIET_SECONDS

    def _receive(self) -> None:
        at = SystemClock().now()
        self.close_connection = True
        body = self._body()
        if body is None:
            return
        self._answer()
        self.server.put(
            Arrival(
                at=at,
                method=self.command,
                path=self.path,
                job_id=self.headers.get("X-Onthedot-Job"),
                run_id=self.headers.get("X-Onthedot-Run"),
                attempt=_number(self.headers.get("X-Onthedot-Attempt")),
                fire_at=_instant(self.headers.get("X-Onthedot-Fire-Time")),
                body=body,
            )
        )

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _receive  # noqa: N815 - names of http.server

    def _body(self) -> bytes | None:
        """Return the body. Answer an error and return None when its length is not known or too large."""
        length = _number(self.headers.get("Content-Length", "0"))
        if length is None or "Transfer-Encoding" in self.headers:
            self.send_error(411)
            return None
        if length > MAX_BODY:
            self.send_error(413)
            return None
        return self.rfile.read(length)

    def _answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(_ANSWER)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(_ANSWER)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Write nothing: the command shows requests itself."""

    def log_error(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Report a request that was refused."""
        self.server.refused(format % args)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None


def _instant(text: str | None) -> int | None:
    try:
        return None if text is None else parse_instant(text)
    except ValueError:
        return None
