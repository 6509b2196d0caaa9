"""The HTTP server: uvicorn, with bounds on headers and connections. It runs in the main thread until it is stopped."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD: Final = 64 * 1024
"""Most bytes of a request before its body."""
MOST_CONNECTIONS: Final = 2_000
KEEP_ALIVE_SECONDS: Final = 75
STOP_SECONDS: Final = 10
"""How long requests that are under way may take when the server is stopped."""


class LimitedProtocol(HttpToolsProtocol):
    """The protocol of one connection, which closes it when the head of a request is too large."""

    _head_bytes = 0
    _in_body = False

    def data_received(self, data: bytes) -> None:
        """Count the bytes of the head."""
        if not self._in_body:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD + len(data) or self._is_endless(data):
                self.transport.write(b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\r\n")
                self.transport.close()
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Begin the body."""
        self._in_body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect the head of the next request."""
        self._in_body, self._head_bytes = False, 0
        super().on_message_complete()

    def _is_endless(self, data: bytes) -> bool:
        return self._head_bytes > MOST_HEAD and b"\r\n\r\n" not in data


class HttpServer(uvicorn.Server):
    """A server that ends in order after the first signal, and at once after the second."""

    def __init__(self, app: Any, on_ready: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            http=LimitedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        super().__init__(config)
        self._on_ready = on_ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at the first signal. Leave at the second, which means that the user waits no longer."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop_or_leave)
        yield

    def _stop_or_leave(self) -> None:
        if self.should_exit:
            os._exit(1)
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and report that the server answers."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    def serve_on(self, listener: socket.socket) -> None:
        """Serve until a signal comes."""
        self.run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raise OSError when the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except BaseException:
        listener.close()
        raise
    return listener
