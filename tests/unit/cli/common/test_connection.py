"""One connection serves all calls of a command, and opens again when the server has closed it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from onthedot.cli.common.connection import OneConnection
from onthedot.client.transport import NoAnswer

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Request-Id: r1\r\n\r\n{}"


class Server:
    """Answers each request, and closes the connection after every so many."""

    def __init__(self, answers: int, answer: bytes = ANSWER) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.connections = 0
        self.heads: list[bytes] = []
        self._answers, self._answer = answers, answer

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                for _ in range(self._answers):
                    if not (head := connection.recv(65_536)):
                        break
                    # The body comes in a packet of its own. A connection that is closed before it is read is reset.
                    if b"Content-Length: 2" in head and head.endswith(b"\r\n\r\n"):
                        connection.recv(2)
                    self.heads.append(head)
                    connection.sendall(self._answer)


@contextmanager
def serving(server: Server) -> Iterator[OneConnection]:
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    port = server.listener.getsockname()[1]
    with closing(OneConnection(f"http://127.0.0.1:{port}/dev/")) as transport:
        yield transport
    server.listener.shutdown(socket.SHUT_RDWR)
    server.listener.close()
    thread.join(5)


def test_calls_share_a_connection() -> None:
    server = Server(answers=10)
    with serving(server) as transport:
        first = transport.send("GET", "/v1/jobs", {"name": "a b"}, None, {"Authorization": "Bearer t"})
        transport.send("POST", "/v1/jobs", {}, b"{}", {})
    assert (first.status, first.body, first.headers["x-request-id"]) == (200, b"{}", "r1")
    assert server.heads[0].startswith(b"GET /dev/v1/jobs?name=a+b HTTP/1.1\r\n")
    assert server.connections == 1


def test_a_connection_that_the_server_has_closed_is_opened_again() -> None:
    server = Server(answers=1)
    with serving(server) as transport:
        for _ in range(3):
            assert transport.send("POST", "/v1/jobs", {}, b"{}", {}).status == 200
            transport._connection.sock.recv(1)  # the end has come
    assert server.connections == 3


def test_a_request_that_was_never_sent_says_so() -> None:
    with pytest.raises(NoAnswer, match=r"127\.0\.0\.1:1 cannot be reached: Connection refused") as caught:
        OneConnection("http://127.0.0.1:1").send("GET", "/v1/health", {}, None, {})
    assert not caught.value.may_have_arrived


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", b"nonsense\r\n\r\n"])
def test_an_answer_that_is_not_whole_may_have_had_an_effect(answer: bytes) -> None:
    with serving(Server(1, answer)) as transport, pytest.raises(NoAnswer, match="did not answer") as caught:
        transport.send("POST", "/v1/jobs", {}, b"{}", {})
    assert caught.value.may_have_arrived
