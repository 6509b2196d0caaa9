"""The targets of the present: one listener on loopback for all hosts of the world."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USUAL_PORT = 8080
LONGEST_HOLD = 900
ANSWERS = {200: b'{"ok": true}', 503: b"no healthy upstream", 504: b"upstream request timed out"}


@dataclass
class WorldListener:
    """Answers 200. Below `/hold` it answers when it is let go. A path in `down` answers 503, one in `slow` 504."""

    port: int
    down: set[str] = field(default_factory=set)
    slow: set[str] = field(default_factory=set)
    let_go: threading.Event = field(default_factory=threading.Event)
    bodies: list[tuple[str, bytes]] = field(default_factory=list)
    """Path and body of each call."""

    def status_of(self, path: str, body: bytes) -> int:
        self.bodies.append((path, body))
        if path.startswith("/hold"):
            self.let_go.wait(LONGEST_HOLD)
        return 503 if path in self.down else 504 if path in self.slow else 200


@contextmanager
def world_listener() -> Iterator[WorldListener]:
    """Listen at the usual port, because pictures show it, or at a free one."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status = listener.status_of(self.path, body)
            answer = ANSWERS[status]
            with suppress(OSError):  # the caller may have gone meanwhile
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        do_GET = do_PUT = do_POST  # noqa: N815 - the server looks for these names

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = _bound(Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # a killed server hangs up: expected here
    listener = WorldListener(server.server_address[1])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield listener
    finally:
        listener.let_go.set()
        server.shutdown()
        server.server_close()


def _bound(handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    try:
        return ThreadingHTTPServer(("127.0.0.1", USUAL_PORT), handler)
    except OSError:
        return ThreadingHTTPServer(("127.0.0.1", 0), handler)
