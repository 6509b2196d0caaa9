"""More connections than a server takes."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from onthedot.serve import http_server
from onthedot.serve.http_server import HttpServer, listen


class InThread(HttpServer):
    """A server that gets no signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def fine(_: Any, __: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 5)
    listener = listen("127.0.0.1", 0)
    ready = threading.Event()
    server = InThread(fine, ready.set, lambda: None)
    thread = threading.Thread(target=server.serve_on, args=(listener,))
    thread.start()
    assert ready.wait(10)
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(10)


def status(connection: socket.socket) -> bytes:
    connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    return connection.recv(4096)[9:12]


def test_connections_above_the_limit_are_refused_and_the_others_go_on(port: int) -> None:
    kept = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(4)]
    assert [status(one) for one in kept] == [b"200"] * 4
    more = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(4)]
    assert b"503" in [status(one) for one in more]
    for one in more:
        one.close()
    later = socket.create_connection(("127.0.0.1", port), timeout=10)
    assert {status(one) for one in (*kept, later)} <= {b"200", b"503"}
    for one in (*kept, later):
        one.close()
    with socket.create_connection(("127.0.0.1", port), timeout=10) as again:
        assert status(again) == b"200"
