"""An HTTP target that notes each call: when it came, for which job, and with which idempotency key."""

import socket
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

_ANSWER: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
_KEY: Final = b"idempotency-key:"


@dataclass(frozen=True, slots=True)
class NotedCall:
    """One call of the target."""

    at: int
    """Epoch milliseconds."""
    key: str


@dataclass
class Listener:
    """A target on loopback. The path of a call is the number of its job."""

    calls: dict[int, list[NotedCall]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        """Answer all calls of one connection. A server that is killed breaks it off anywhere."""
        rest = b""
        with connection:
            while True:
                try:
                    data = connection.recv(65536)
                    rest += data
                    while (request := _first_request(rest)) is not None:
                        head, rest = request
                        self._note(head)
                        connection.sendall(_ANSWER)
                except OSError:
                    return
                if not data:
                    return

    def _note(self, head: bytes) -> None:
        at = time.time_ns() // 1_000_000
        lines = head.split(b"\r\n")
        number = int(lines[0].split(b" ")[1].strip(b"/"))
        key = next(line for line in lines if line.lower().startswith(_KEY))[len(_KEY) :].strip().decode()
        self.calls[number].append(NotedCall(at, key))


def _first_request(data: bytes) -> tuple[bytes, bytes] | None:
    """Return the head of the first request that arrived whole, and the data after it."""
    head, end, rest = data.partition(b"\r\n\r\n")
    if not end:
        return None
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    return (head, rest[length:]) if len(rest) >= length else None
