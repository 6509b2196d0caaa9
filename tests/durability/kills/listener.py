"""An HTTP target that notes each call: when it came, for which job, and with which idempotency key."""

import http.client
import selectors
import socket
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

_ANSWER: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
_KEY: Final = b"idempotency-key:"
_CONTROL: Final = "/"
"""The path of calls that come from the test itself. They are not noted."""


@dataclass(frozen=True, slots=True)
class NotedCall:
    """One call of the target."""

    at: int
    """Epoch milliseconds."""
    key: str


@dataclass
class Listener:
    """A target on loopback. The path of a call is the number of its job.

    One thread reads all connections, and each round reads all that have data: see `heard`.
    """

    calls: dict[int, list[NotedCall]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._unread: dict[socket.socket, bytes] = {}
        self._over = False

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over = True
        self._thread.join()
        for open_one in (self._socket, *self._unread):
            open_one.close()

    def heard(self) -> int:
        """Return when all that was sent before this call has been noted, however busy the machine is.

        The second control comes in a later round than the first one. In the round of the first one, everything that
        was sent before had arrived.
        """
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        for _ in range(2):
            connection.request("POST", _CONTROL)
            connection.getresponse().read()
        connection.close()
        return _now()

    def _serve(self) -> None:
        while not self._over:
            for key, _ in self._selector.select(0.1):
                if key.fileobj is self._socket:
                    connection, _ = self._socket.accept()
                    self._unread[connection] = b""
                    self._selector.register(connection, selectors.EVENT_READ)
                else:
                    self._read(key.fileobj)  # type: ignore[arg-type] # only sockets are registered

    def _read(self, connection: socket.socket) -> None:
        """Answer the calls of one connection. A server that is killed breaks it off anywhere."""
        try:
            data = connection.recv(65536)
            self._unread[connection] += data
            while (request := _first_request(self._unread[connection])) is not None:
                head, self._unread[connection] = request
                self._note(head)
                connection.sendall(_ANSWER)
        except OSError:
            data = b""
        if not data:
            self._selector.unregister(connection)
            del self._unread[connection]
            connection.close()

    def _note(self, head: bytes) -> None:
        at = _now()
        lines = head.split(b"\r\n")
        path = lines[0].split(b" ")[1].decode()
        if path != _CONTROL:
            key = next(line for line in lines if line.lower().startswith(_KEY))[len(_KEY) :].strip().decode()
            self.calls[int(path.strip("/"))].append(NotedCall(at, key))


def _now() -> int:
    return time.time_ns() // 1_000_000


def _first_request(data: bytes) -> tuple[bytes, bytes] | None:
    """Return the head of the first request that arrived whole, and the data after it."""
    head, end, rest = data.partition(b"\r\n\r\n")
    if not end:
        return None
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    return (head, rest[length:]) if len(rest) >= length else None
