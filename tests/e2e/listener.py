"""A callback receiver on loopback that remembers each request with its time, and answers as its path says."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Arrival:
    path: str
    at: int
    headers: dict[str, str]
    body: bytes

    @property
    def payload(self) -> Any:
        return json.loads(self.body)


class Listener:
    """`/name` answers 200; `/name?fail=2` answers 503 twice before; `/name?hang=30` hangs once for 30 s."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._arrivals: list[Arrival] = []
        self._changed = threading.Condition()

    def record(self, arrival: Arrival) -> int:
        with self._changed:
            self._arrivals.append(arrival)
            self._changed.notify_all()
            return len(self.at_path(arrival.path))

    def at_path(self, path: str) -> list[Arrival]:
        return [arrival for arrival in self._arrivals if arrival.path.split("?")[0] == path.split("?", maxsplit=1)[0]]

    def wait_for(self, path: str, count: int = 1, seconds: float = 90) -> list[Arrival]:
        """The arrivals at a path, once there are that many."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: len(self.at_path(path)) >= count, timeout=seconds)
        assert arrived, f"{path} was called {len(self.at_path(path))} times within {seconds} s, not {count}"
        return self.at_path(path)


@contextmanager
def listening() -> Iterator[Listener]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            at = time.time_ns() // 1_000_000
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            earlier = listener.record(Arrival(self.path, at, headers, body)) - 1
            self._answer(earlier)

        def _answer(self, earlier: int) -> None:
            wish, _, amount = self.path.partition("?")[2].partition("=")
            if wish == "hang" and earlier == 0:
                time.sleep(float(amount))
            failing = wish == "fail" and earlier < int(amount)
            answer = b"not yet" if failing else b"thank you"
            self.send_response(503 if failing else 200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # a killed worker hangs up: expected here
    listener = Listener(server.server_address[1])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield listener
    finally:
        server.shutdown()
        server.server_close()
