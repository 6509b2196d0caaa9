"""The HTTP server: uvicorn, with bounds on headers and connections. It runs in the main thread until it is stopped."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from onthedot.api.errors import error_response

MOST_HEAD: Final = 64 * 1024
"""Most bytes of a request before its body."""
_AROUND_URL: Final = len("  HTTP/1.1\r\n")
_AROUND_HEADER: Final = len(": \r\n")
_END: Final = len("\r\n")
HEAD_SECONDS: Final = 30.0
"""How long a client may take from its first byte, or from the connection, to the end of a request's head."""
MOST_CONNECTIONS: Final = 2_000
KEEP_ALIVE_SECONDS: Final = 75
TICK_SECONDS: Final = 1.0
STOP_SECONDS: Final = 10
"""How long requests that are under way may take when the server is stopped."""


class HeadTooLarge(Exception):
    """The head of a request has more than `MOST_HEAD` bytes."""


class LimitedProtocol(HttpToolsProtocol):
    """The protocol of one connection. It refuses heads that are too large or slow, and connections above the limit."""

    _head_bytes = 0
    _in_body = False
    _is_too_large = False
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Begin to wait for the first request, or refuse the connection."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "too many connections; try again later")
        else:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of the head. A head that is not complete has some seconds for the rest."""
        if self.transport.is_closing():
            return
        if not self._in_body:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD + len(data) or self._is_endless(data):
                self._refuse_large()
                return
        super().data_received(data)
        if self._head_bytes and not self._in_body and self._head_timer is None:
            self._start_timer()

    def on_headers_complete(self) -> None:
        """Begin the body. Raise HeadTooLarge, at which the parser stops and `send_400_response` is called."""
        if self._head_size() > MOST_HEAD:
            self._is_too_large = True
            raise HeadTooLarge
        self._in_body = True
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect the head of the next request."""
        self._in_body, self._head_bytes = False, 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are no request, and a head that is too large."""
        if self._is_too_large:
            self._refuse_large()
        else:
            self._refuse(HTTPStatus.BAD_REQUEST, "bad_request", msg)

    def _head_size(self) -> int:
        """Return the bytes of the head that was just read. It may have come together with other requests."""
        first = len(self.parser.get_method()) + len(self.url) + _AROUND_URL
        return first + sum(len(name) + len(value) + _AROUND_HEADER for name, value in self.headers) + _END

    def _is_endless(self, data: bytes) -> bool:
        return self._head_bytes > MOST_HEAD and b"\r\n\r\n" not in data

    def _start_timer(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._refuse_slow)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse_large(self) -> None:
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_large", f"more than {MOST_HEAD} bytes")

    def _refuse_slow(self) -> None:
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, "timeout", f"the head did not arrive within {HEAD_SECONDS:.0f} s")

    def _refuse(self, status: HTTPStatus, code: str, message: str) -> None:
        """Send an error in the form of the API, and close the connection. The application does not see the request."""
        content = error_response(status, code, message).text.encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nconnection: close\r\n"
            f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        )
        self.transport.write(head.encode() + content)
        self.transport.close()


class HttpServer(uvicorn.Server):
    """A server that ends in order after the first signal, and at once after the second."""

    def __init__(self, app: Any, on_ready: Callable[[], None], on_stop: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            http=LimitedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
        )
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop
        self._asked_to_stop = asyncio.Event()

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
        self._asked_to_stop.set()
        self._on_stop()

    async def main_loop(self) -> None:
        """Renew the `Date` header each second until the stop. uvicorn's own loop wakes ten times as often."""
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._asked_to_stop.wait(), TICK_SECONDS)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and report that the server answers."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    def serve_on(self, listener: socket.socket) -> None:
        """Serve until a signal comes."""
        self.run(sockets=[listener])


def leave_at_signals() -> None:
    """Leave at the next signal. The event loop, which handled the first one, has ended."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(1))


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
