"""Connections by themselves: too many, too slow, and without a request."""

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar

import pytest

from onthedot.api.http import Response
from onthedot.serve import http_server
from onthedot.serve.http_server import HttpServer, listen

HEAD_SECONDS = 1.0
"""Of a hasty server. A busy machine may stop a test between a connection and its request."""


class InThread(HttpServer):
    """A server that gets no signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def fine(_: Any, __: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


class Writes:
    """Short writes of at most ten bytes, which are answered with their bodies."""

    done: ClassVar[list[bytes]] = []

    def is_short(self, path: str, size: int) -> bool:
        return path == "/short" and size <= 10

    def answer_short(
        self, path: str, headers: Sequence[tuple[bytes, bytes]], body: bytes, answer: Callable[[Response], None]
    ) -> None:
        self.done.append(body)
        answer(Response(200, body.decode()))


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server wait only a moment for the head of a request, and for its body."""
    monkeypatch.setattr(http_server, "HEAD_SECONDS", HEAD_SECONDS)
    monkeypatch.setattr(http_server, "BODY_SECONDS", HEAD_SECONDS)


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 5)
    monkeypatch.setattr(http_server, "TICK_SECONDS", 0.05)
    listener = listen("127.0.0.1", 0)
    ready = threading.Event()
    server = InThread(fine, ready.set, lambda: None, Writes())
    thread = threading.Thread(target=server.serve_on, args=(listener,))
    thread.start()
    assert ready.wait(60)
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(10)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def status(connection: socket.socket, request: bytes = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n") -> int:
    """The status of the answer. An error has the form of the API."""
    connection.sendall(request)
    return answered(connection)


def answered(connection: socket.socket) -> int:
    received = b""
    while not _is_whole(received):
        part = connection.recv(4096)
        assert part, "the connection was closed without an answer"
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    found = int(head[9:12])
    assert found == 200 or set(json.loads(body)["error"]) == {"code", "message", "details"}
    return found


def _is_whole(received: bytes) -> bool:
    head, end, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return bool(end) and length is not None and len(body) >= int(length[1])


def test_connections_above_the_limit_are_refused_and_the_others_go_on(port: int) -> None:
    with ExitStack() as open_ones:
        kept = [open_ones.enter_context(connect(port)) for _ in range(5)]
        assert [status(one) for one in kept] == [200] * 5
        with connect(port) as refused:
            assert answered(refused) == 503, "it need not send anything"
            assert refused.recv(1) == b"", "and is closed"
        assert [status(one) for one in kept] == [200] * 5
    with connect(port) as again:
        assert status(again) == 200


@pytest.mark.usefixtures("hasty")
def test_a_connection_without_a_request_is_closed(port: int) -> None:
    with connect(port) as silent:
        assert answered(silent) == 408
        assert silent.recv(1) == b""


@pytest.mark.usefixtures("hasty")
def test_a_head_that_comes_too_slowly_is_refused_also_behind_another_request(port: int) -> None:
    with connect(port) as slow:
        assert status(slow) == 200
        assert status(slow, b"GET / HT") == 408


@pytest.mark.usefixtures("hasty")
def test_a_connection_that_is_kept_alive_may_be_idle_for_longer(port: int) -> None:
    with connect(port) as kept:
        assert status(kept) == 200
        time.sleep(1.5 * HEAD_SECONDS)
        assert status(kept) == 200


@pytest.mark.usefixtures("hasty")
def test_a_short_write_whose_body_comes_too_slowly_is_refused(port: int) -> None:
    with connect(port) as slow:
        assert status(slow, b"POST /short HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nab") == 408
        assert slow.recv(1) == b"", "and is closed"


def test_a_short_write_is_done_once(port: int) -> None:
    for end in (b"", b"connection: close\r\n"):
        with connect(port) as connection:
            assert (
                status(connection, b"POST /short HTTP/1.1\r\nhost: x\r\n" + end + b"content-length: 4\r\n\r\nonce")
                == 200
            )
    with connect(port) as after:
        assert status(after) == 200
    assert Writes.done.count(b"once") == 2


@pytest.mark.usefixtures("hasty")
def test_a_short_write_is_not_refused_late(port: int) -> None:
    with connect(port) as kept:
        kept.sendall(b"POST /short HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nab")
        kept.sendall(b"cde")
        assert answered(kept) == 200
        time.sleep(1.5 * HEAD_SECONDS)
        assert status(kept) == 200


def test_bytes_that_are_no_request_are_refused_in_the_form_of_the_api(port: int) -> None:
    for nonsense in (b"nonsense\r\n\r\n", b"GET /\xff HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02"):
        with connect(port) as connection:
            assert status(connection, nonsense) == 400


def a_head(size: int) -> bytes:
    """The head of a request with so many bytes."""
    start, end = b"GET / HTTP/1.1\r\nhost: x\r\nx: ", b"\r\n\r\n"
    return start + b"y" * (size - len(start) - len(end)) + end


@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"], ids=["alone", "behind another"])
def test_a_head_that_comes_at_once_has_the_same_limit(port: int, before: bytes) -> None:
    with connect(port) as connection:
        assert status(connection, a_head(http_server.MOST_HEAD)) == 200
    with connect(port) as connection:
        if before:
            assert status(connection, before) == 200
        assert status(connection, a_head(http_server.MOST_HEAD + 1)) == 431
        assert connection.recv(1) == b"", "and is closed"


def test_a_head_that_is_too_large_is_refused_before_its_body(port: int) -> None:
    head = a_head(70_000).replace(b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\ncontent-length: 5\r\n")
    with connect(port) as connection:
        assert status(connection, head + b"12345") == 431
