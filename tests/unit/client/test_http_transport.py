"""The HTTP of our own API against a server on loopback: connections stay open, and lost replies are seen."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from onthedot.client import Client, NoAnswer, Unavailable, transport
from onthedot.client.transport import HttpTransport
from tests.unit.client.scripted import JOB

GET = ("GET", "/v1/jobs", {"name": "a b"}, None, {"Authorization": "Bearer t"})
POST: Any = ("POST", "/v1/jobs", {}, b"{}", {})
LOST = b""
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Request-Id: r1\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
ELSEWHERE = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"


def an_answer(status: int, document: Any) -> bytes:
    body = json.dumps(document).encode()
    head = f"HTTP/1.1 {status} As It Is\r\nContent-Length: {len(body)}\r\nX-Request-Id: req-7\r\n\r\n"
    return head.encode() + body


class Server:
    """Gives these answers, the last one again and again. It closes a connection after so many."""

    def __init__(self, *answers: bytes, on_each: int = 100) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/dev/"
        self.connections = 0
        self.requests: list[bytes] = []
        self._answers, self._on_each = list(answers), on_each

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            for _ in range(self._on_each):
                head = b"".join(iter(stream.readline, b"\r\n")) if stream.peek() else b""
                if not head:
                    return
                lengths = [int(line[15:]) for line in head.splitlines() if line.startswith(b"Content-Length:")]
                self.requests.append(head + b"\r\n" + stream.read(sum(lengths)))
                answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
                if not answer:
                    return
                connection.sendall(answer)


@contextmanager
def serving(server: Server) -> Iterator[HttpTransport]:
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    with closing(HttpTransport(server.url)) as opened:
        yield opened
    server.listener.shutdown(socket.SHUT_RDWR)
    server.listener.close()
    thread.join(60)


def test_calls_share_a_connection() -> None:
    server = Server(WHOLE)
    with serving(server) as opened:
        first = opened.send(*GET)
        opened.send(*POST)
    assert (first.status, first.body, first.headers["x-request-id"]) == (200, b"{}", "r1")
    assert server.requests[0].startswith(b"GET /dev/v1/jobs?name=a+b HTTP/1.1\r\n")
    assert server.requests[1].endswith(b"\r\n\r\n{}")
    assert server.connections == 1


def test_calls_of_several_threads_wait_for_none() -> None:
    server, meeting = Server(WHOLE), threading.Barrier(3)
    with serving(server) as opened:

        def call() -> None:
            connection = opened._connected()
            meeting.wait(60)
            opened._idle.append(connection)
            opened.send(*POST)

        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert (len(server.requests), server.connections) == (3, 3)


def test_a_connection_that_the_server_has_closed_is_opened_again() -> None:
    server = Server(WHOLE, on_each=1)
    with serving(server) as opened:
        for _ in range(3):
            assert opened.send(*POST).status == 200
            opened._idle[0].sock.recv(1)  # the end has come
    assert server.connections == 3


def test_an_answer_in_chunks_is_read_whole() -> None:
    with serving(Server(CHUNKED)) as opened:
        assert [opened.send(*POST).body for _ in range(2)] == [b"{}", b"{}"]


def test_a_redirect_is_not_followed_since_the_token_would_go_with_it() -> None:
    with serving(Server(ELSEWHERE)) as opened:
        assert opened.send(*GET).status == 302


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", f"http://{'a' * 64}.test"])
def test_a_request_that_was_never_sent_says_so(url: str) -> None:
    with pytest.raises(NoAnswer, match=f"{url} cannot be reached") as caught:
        HttpTransport(url).send(*GET)
    assert not caught.value.may_have_arrived


@pytest.mark.parametrize(
    "answer", [LOST, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", CHUNKED[:-9], b"nonsense\r\n\r\n"]
)
def test_an_answer_that_is_not_whole_may_have_had_an_effect(answer: bytes) -> None:
    with serving(Server(answer, on_each=1)) as opened, pytest.raises(NoAnswer, match="did not answer") as caught:
        opened.send(*POST)
    assert caught.value.may_have_arrived


def test_an_api_that_does_not_answer_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(NoAnswer, match="timed out") as caught:
        HttpTransport(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.05).send(*POST)
    assert caught.value.may_have_arrived


@pytest.mark.parametrize(("bound", "least"), [("_LARGEST_BODY", 1), ("_WHOLE_BODY", 0)])
def test_an_answer_is_bounded_in_bytes_and_in_time(bound: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, bound, least)
    with serving(Server(WHOLE)) as opened, pytest.raises(NoAnswer, match="its answer"):
        opened.send(*GET)


def test_an_answer_before_the_whole_request_was_read_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    send = http.client.HTTPConnection.request

    def break_off(*arguments: Any) -> None:
        send(*arguments)
        raise BrokenPipeError

    monkeypatch.setattr(http.client.HTTPConnection, "request", break_off)
    with serving(Server(an_answer(413, {}))) as opened:
        assert opened.send(*POST).status == 413


def test_a_lost_reply_and_a_busy_api_are_tried_again_with_one_key() -> None:
    server = Server(LOST, an_answer(503, {}), an_answer(202, JOB))
    with serving(server), Client(server.url, "otd_x", sleep=lambda _: None) as client:
        assert client.schedule("a").id == "job_1"
    bodies = [json.loads(request.partition(b"\r\n\r\n")[2]) for request in server.requests]
    assert len(bodies) == 3
    assert len({body["idempotency_key"] for body in bodies}) == 1


def test_the_error_has_the_request_id() -> None:
    server = Server(an_answer(503, {"error": {"code": "x", "message": "busy"}}))
    client = Client(server.url, "otd_x", tries=1)
    with serving(server), client, pytest.raises(Unavailable, match="busy") as caught:
        client.schedule("a")
    assert (caught.value.code, caught.value.request_id) == ("x", "req-7")
