"""The HTTP server: uvicorn, with bounds on headers and connections. It runs in the main thread until it is stopped."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from typing import Any, Final, Protocol

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from onthedot.api.errors import error_response
from onthedot.api.http import Response

MOST_HEAD: Final = 64 * 1024
"""The most bytes of a request before its body."""
_AROUND_URL: Final = len("  HTTP/1.1\r\n")
_AROUND_HEADER: Final = len(": \r\n")
_END: Final = len("\r\n")
BODY_SECONDS: Final = 30.0
"""How long a client may take to send a request."""
HEAD_SECONDS: Final = 30.0
"""How long a client may take from its first byte, or from the connection, to the end of a request's head."""
MOST_CONNECTIONS: Final = 2_000
KEEP_ALIVE_SECONDS: Final = 75
TICK_SECONDS: Final = 1.0
STOP_SECONDS: Final = 10
"""How long requests that are under way may take when the server is stopped."""


class HeadTooLarge(Exception):
    """The head of a request has more than `MOST_HEAD` bytes."""


class ShortWrites(Protocol):
    """What the application offers besides ASGI: it answers short writes without a task for each."""

    def is_short(self, path: str, size: int) -> bool:
        """Return whether a POST of this many bytes to this path is a short write."""
        ...

    def answer_short(
        self, path: str, headers: Sequence[tuple[bytes, bytes]], body: bytes, answer: Callable[[Response], None]
    ) -> None:
        """Begin to answer. `answer` is called in the thread of the event loop."""
        ...


class ShortCycle:
    """A short write and its answer. uvicorn sees it as one of its own requests, behind which others wait."""

    def __init__(self, protocol: "LimitedProtocol", writes: ShortWrites, path: str, *, keep_alive: bool) -> None:
        self.body = bytearray()
        self.more_body = True
        self.response_complete = False
        self.disconnected = False
        self.keep_alive = keep_alive
        self.message_event = self
        self._protocol = protocol
        self._writes = writes
        self._path = path
        self._headers = protocol.headers
        self._has_begun = False

    def set(self) -> None:
        """Take note that a part of the request has arrived, or that the connection has ended."""
        self._protocol.flow.resume_reading()  # uvicorn stops above 64 KB, until an application has taken them
        if not (self.more_body or self.disconnected or self._has_begun):
            self._has_begun = True
            self._writes.answer_short(self._path, self._headers, bytes(self.body), self._answer)

    def _answer(self, response: Response) -> None:
        if not self.disconnected and not self.response_complete:
            self.response_complete = True
            self._protocol.write_response(response, close=not self.keep_alive)
            self._protocol.on_response_complete()

    def refuse_slow(self) -> None:
        """Answer that the body did not arrive in time."""
        if self.more_body:
            self.keep_alive = False
            self._answer(error_response(408, "timeout", f"the request did not arrive within {BODY_SECONDS:.0f} s"))


class LimitedProtocol(HttpToolsProtocol):
    """The protocol of one connection. It refuses heads that are too large or slow, and connections above the limit.

    Short writes, the most frequent requests, bypass ASGI, which costs as much as the rest of a request.
    """

    short_writes: ShortWrites | None = None
    _short: ShortCycle | None = None
    """The latest one."""
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
        if self._short is not None and self._short.more_body:
            self.loop.call_later(BODY_SECONDS, self._short.refuse_slow)
        if self._head_bytes and not self._in_body and self._head_timer is None:
            self._start_timer()

    def on_headers_complete(self) -> None:
        """Begin the body. Raise HeadTooLarge, at which the parser stops and `send_400_response` is called."""
        if self._head_size() > MOST_HEAD:
            self._is_too_large = True
            raise HeadTooLarge
        self._in_body = True
        self._stop_timer()
        if not self._begin_short():
            super().on_headers_complete()

    def _begin_short(self) -> bool:
        """Make a short write of the request, if it is one, and no other request waits for its answer."""
        writes = self.short_writes
        if writes is None or self.parser.get_method() != b"POST":
            return False
        if (
            self.expect_100_continue
            or self.parser.should_upgrade()
            or self.parser.get_http_version() != "1.1"
            or (self.cycle is not None and not self.cycle.response_complete)
        ):
            return False
        path = self.url.decode("latin-1")
        length = next((value for name, value in self.headers if name == b"content-length"), b"")
        if not (length.isdigit() and writes.is_short(path, int(length))):
            return False
        self._short = ShortCycle(self, writes, path, keep_alive=self.parser.should_keep_alive())
        self.cycle = self._short  # type: ignore[assignment] # it has what uvicorn uses of a cycle
        return True

    def write_response(self, response: Response, *, close: bool) -> None:
        """Write a whole response."""
        content = response.text.encode("utf-8", "surrogatepass")
        lines = [STATUS_LINE[response.status]]
        lines += [b"%b: %b\r\n" % header for header in self.server_state.default_headers]
        lines += [f"{name.lower()}: {value}\r\n".encode("latin-1") for name, value in response.headers.items()]
        lines.append(b"content-length: %d\r\n" % len(content))
        if close:
            lines.append(b"connection: close\r\n")
        self.transport.write(b"".join([*lines, b"\r\n", content]))
        if close:
            self.transport.close()

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

    def __init__(
        self,
        app: Any,
        on_ready: Callable[[], None],
        on_stop: Callable[[], None],
        short_writes: ShortWrites | None = None,
    ) -> None:
        config = uvicorn.Config(
            app,
            http=type("ServedProtocol", (LimitedProtocol,), {"short_writes": short_writes}),
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
