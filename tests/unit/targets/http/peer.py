"""A real peer on loopback that behaves as badly as a test asks for, and the calls made to it."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from onthedot.core.ports import Call
from onthedot.core.stopping import Stop
from onthedot.targets.addresses import Lookup
from onthedot.targets.http.caller import HttpCaller
from onthedot.targets.types import HttpTarget
from tests.unit.targets.kit import NOW, a_call_of


class StoppedClock:
    def now(self) -> int:
        return NOW

    def sleep_until(self, instant: int) -> None:
        raise AssertionError("nothing here sleeps")


class Peer:
    """A server that accepts one connection after the other, records the request, and runs its script on each."""

    def __init__(self, script: "Script", tls: ssl.SSLContext | None, reads: bool) -> None:
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.over = threading.Event()
        self._script, self._tls, self._reads = script, tls, reads
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def headers(self) -> dict[str, str]:
        """The header fields of the last request by lower-case name. No name may occur twice."""
        lines = [line.split(": ", 1) for line in self.heads[-1].split("\r\n")[1:] if line]
        assert len({name.lower() for name, _ in lines}) == len(lines), "a header came twice"
        return {name.lower(): value for name, value in lines}

    @property
    def asked(self) -> list[str]:
        """Method and path of each request."""
        return [head.split(" HTTP/1.1")[0] for head in self.heads]

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self.over.is_set():
                connection.close()
                return
            self.connections += 1
            # The caller may break the connection: tests check the caller, so the peer ignores it.
            with connection, contextlib.suppress(OSError):
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        if not self._tls:
            return self._answer(connection)
        with self._tls.wrap_socket(connection, server_side=True) as secured:
            return self._answer(secured)

    def _answer(self, connection: socket.socket) -> None:
        if self._reads:
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(65536) or b"\r\n\r\n"
            head, _, body = received.partition(b"\r\n\r\n")
            self.heads.append(head.decode("latin-1"))
            length = int(self.headers.get("content-length", 0))
            while len(body) < length and (more := connection.recv(65536)):
                body += more
            self.bodies.append(body)
        self._script(connection, self)

    def close(self) -> None:
        self.over.set()
        socket.create_connection(("127.0.0.1", self.port)).close()
        self._thread.join()
        self._listener.close()


Script = Callable[[socket.socket, Peer], None]


@contextlib.contextmanager
def a_peer(script: Script, tls: ssl.SSLContext | None = None, reads: bool = True) -> Iterator[Peer]:
    peer = Peer(script, tls, reads)
    try:
        yield peer
    finally:
        peer.close()


def reply(status: int = 200, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    fields = {"Content-Length": str(len(body))} | dict(headers or {})
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode("latin-1") + body


def sending(content: bytes) -> Script:
    return lambda connection, _peer: connection.sendall(content)


def one_after_the_other(*contents: bytes) -> Script:
    """Return a script that sends the next content on each connection."""
    left = iter(contents)
    return lambda connection, _peer: connection.sendall(next(left))


def leading_to(url: str, status: int = 307) -> Script:
    return sending(reply(status, headers={"Location": url}))


def hanging(connection: socket.socket, peer: Peer) -> None:
    peer.over.wait()


def dripping(start: bytes, drop: bytes = b"x") -> Script:
    def drip(connection: socket.socket, peer: Peer) -> None:
        connection.sendall(start)
        while not peer.over.wait(0.02):
            connection.sendall(drop)

    return drip


def resolving_to(*addresses: str) -> Lookup:
    """Return a resolver that answers every question with these addresses."""
    return lambda host, port, *_: [(0, 0, 0, "", (address, port)) for address in addresses]


def a_call(
    url: str,
    timeout_ms: int = 30_000,
    payload: bytes = b'{"n": 1}',
    signature: Mapping[str, str] | None = None,
    stop: Stop | None = None,
    **target: Any,
) -> Call:
    return a_call_of(HttpTarget(url=url, **target), payload, timeout_ms, stop, signature)


def a_caller(allow_private: bool = True, resolve: Lookup = socket.getaddrinfo) -> HttpCaller:
    return HttpCaller(allow_private=allow_private, resolve=resolve, clock=StoppedClock())
