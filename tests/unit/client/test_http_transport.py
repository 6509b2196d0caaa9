"""The HTTP transport against a server on loopback: connections stay open, lost replies are seen."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from onthedot.client import Client, NoAnswer, Unavailable
from onthedot.client.transport import HttpTransport
from tests.unit.client.scripted import JOB


class Api(BaseHTTPRequestHandler):
    """Answers as the class says."""

    protocol_version = "HTTP/1.1"
    trouble: list[Any]
    """Statuses to answer with, or "drop" to close the connection after the request was read."""
    seen: list[tuple[str, Any, tuple[Any, ...]]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, body, self.client_address))
        trouble = self.trouble.pop(0) if self.trouble else 202
        if trouble == "drop":
            self.close_connection = True
            return
        content = json.dumps(JOB if trouble == 202 else {"error": {"code": "x", "message": "busy"}}).encode()
        self.send_response(trouble)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Request-Id", "req-7")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def server() -> Iterator[tuple[str, type[Api]]]:
    handler = type("Handler", (Api,), {"trouble": [], "seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=lambda: http.serve_forever(poll_interval=0.01))
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/stage/", handler
        http.shutdown()
        thread.join()


def test_a_connection_is_used_again(server: tuple[str, type[Api]]) -> None:
    url, api = server
    with Client(url, "otd_x") as client:
        client.schedule("a")
        client.schedule("b")
    assert [path for path, _, _ in api.seen] == ["/stage/v1/jobs"] * 2
    assert len({address for _, _, address in api.seen}) == 1


def test_a_lost_reply_and_a_busy_api_are_tried_again_with_one_key(server: tuple[str, type[Api]]) -> None:
    url, api = server
    api.trouble.extend(["drop", 503])
    with Client(url, "otd_x", sleep=lambda _: None) as client:
        assert client.schedule("a").id == "job_1"
    assert len({body["idempotency_key"] for _, body, _ in api.seen}) == 1
    assert len(api.seen) == 3


def test_the_error_has_the_request_id(server: tuple[str, type[Api]]) -> None:
    url, api = server
    api.trouble.append(503)
    with Client(url, "otd_x", tries=1) as client, pytest.raises(Unavailable, match=r"busy \(request req-7\)"):
        client.schedule("a")


def test_a_request_that_was_never_sent_says_so() -> None:
    transport = HttpTransport("http://127.0.0.1:1")
    with pytest.raises(NoAnswer, match="cannot be reached: Connection refused") as caught:
        transport.send("GET", "/v1/health", {}, None, {})
    assert not caught.value.may_have_arrived
