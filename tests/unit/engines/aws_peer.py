"""A peer on loopback that answers the lean client as DynamoDB and SQS do, or as badly as a test asks for."""

import json
import socket
import threading
from collections import ChainMap
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from onthedot.engines.aws.client import LeanClient, Watcher

ENVIRONMENT = {
    "AWS_LAMBDA_FUNCTION_NAME": "worker",
    "AWS_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "AKID",
    "AWS_SECRET_ACCESS_KEY": "secret",
}


class Request:
    def __init__(self, head: str, body: bytes) -> None:
        self.line, *lines = head.split("\r\n")
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        self.body = body


Answer = bytes | Callable[[socket.socket], bool]
"""The bytes of a reply, or what to do with the connection, and whether it stays open."""


def closing(content: bytes = b"") -> Answer:
    """Send this, and close the connection."""

    def send(connection: socket.socket) -> bool:
        connection.sendall(content)
        return False

    return send


class AwsPeer:
    """Answers one request after the other, on as many connections as it gets."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.requests: list[Request] = []
        self._open: list[socket.socket] = []
        self._over = False
        self._answers = iter(answers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._listen, daemon=True)]
        self._threads[0].start()

    @property
    def connections(self) -> int:
        return len(self._open)

    def _listen(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._over:
                connection.close()
                return
            self._open.append(connection)
            self._threads.append(threading.Thread(target=self._serve, args=(connection,), daemon=True))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        # The client may break the connection: tests check the client, so the peer ignores it.
        with connection, suppress(OSError), connection.makefile("rb") as stream:
            while request := _read(stream):
                self.requests.append(request)
                answer = next(self._answers)
                if not callable(answer):
                    connection.sendall(answer)
                elif not answer(connection):
                    return

    def close(self) -> None:
        self._over = True
        socket.create_connection(self._listener.getsockname()).close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()


def _read(stream: Any) -> Request | None:
    lines: list[str] = []
    while (line := stream.readline()) not in (b"\r\n", b""):
        lines.append(line.decode("latin-1").rstrip("\r\n"))
    if not lines:
        return None
    length = next(int(line.split(": ")[1]) for line in lines if line.lower().startswith("content-length: "))
    return Request("\r\n".join(lines), stream.read(length))


def reply(content: Any = b"{}", status: int = 200, /, **headers: str) -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    fields = {"content-length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Said\r\n{head}\r\n".encode() + body


def error(code: str, status: int = 400, /, **headers: str) -> bytes:
    return reply({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "because"}, status, **headers)


@contextmanager
def a_client(
    *answers: Answer,
    service: str = "dynamodb",
    environment: MutableMapping[str, str] = ENVIRONMENT,
    watchers: Sequence[Watcher] = (),
    pauses: Callable[[float], None] = lambda _: None,
) -> Iterator[tuple[Any, AwsPeer]]:
    """Yield a client and the peer that gives it these answers."""
    peer = AwsPeer(answers)
    client = LeanClient(service, ChainMap({"AWS_ENDPOINT_URL": peer.url}, environment), watchers, pauses)
    try:
        yield client, peer
    finally:
        client.close()
        peer.close()
