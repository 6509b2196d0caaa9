"""A callback receiver that notes each request with its time, in its own process so that its cost shows apart.

    python -m benchmarks.receiver        prints its port

A `POST` is noted and answered at once. A `GET` returns all notes. It speaks just enough HTTP for our worker.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from subprocess import PIPE, Popen
from typing import Final

import urllib3

from benchmarks.common import ROOT

_HEAD_END: Final = b"\r\n\r\n"
_OK: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

Arrival = tuple[str, int]
"""Path and epoch milliseconds."""


class _Connection(asyncio.Protocol):
    def __init__(self, arrivals: list[Arrival]) -> None:
        self._arrivals = arrivals
        self._received = b""
        self._at = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._at = time.time_ns() // 1_000_000

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(_HEAD_END)
        if not end or len(body) < _content_length(head) or self._transport is None:
            return
        method, path, _ = head.split(b" ", 2)
        if method == b"GET":
            notes = json.dumps(self._arrivals).encode()
            self._transport.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + notes)
        else:
            # The time of the connection. This process may read the request later, which is its own lateness.
            self._arrivals.append((path.decode(), self._at))
            self._transport.write(_OK)
        self._transport.close()


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


async def _serve() -> None:
    arrivals: list[Arrival] = []
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(arrivals), "127.0.0.1", 0, backlog=4096)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


@dataclass(frozen=True, slots=True)
class Receiver:
    url: str
    pid: int

    def arrivals(self) -> list[Arrival]:
        reply = urllib3.request("GET", f"{self.url}/", retries=False, timeout=30)
        return [(str(path), int(at)) for path, at in json.loads(reply.data)]


@contextmanager
def receiving() -> Iterator[Receiver]:
    with Popen([sys.executable, "-m", "benchmarks.receiver"], cwd=ROOT, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Receiver(f"http://127.0.0.1:{int(process.stdout.readline())}", process.pid)
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(_serve())
