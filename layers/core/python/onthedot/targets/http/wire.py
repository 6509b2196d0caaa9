"""A connection with one deadline for all that happens on it, however slowly the peer drips, and one way to break it."""

import io
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from http.client import HTTPException
from typing import TYPE_CHECKING, Final, Self

from onthedot.ports import RESULT_BYTES
from onthedot.stopping import Stop
from onthedot.targets.addresses import Address
from onthedot.targets.attempt import interruptible

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_REPLY: Final = 2 * RESULT_BYTES
"""Bytes taken from a peer at most, headers and framing included: no parser can be talked into more."""
_ADDRESSES_TRIED: Final = 4
_TLS_RECORD: Final = 16 * 1024
"""One write that OpenSSL does whole, so that each has the time that is left and no more."""


class Stopped(Exception):
    """The call was asked to end early."""


class Countdown:
    """The time that is left of a call, and what it is being spent on. When the call is asked to stop it is over."""

    def __init__(self, milliseconds: int, stop: Stop | None = None) -> None:
        # Not the scheduler's clock: sockets wait in real time, and the wall clock may jump.
        self._end = time.monotonic() + milliseconds / 1000
        self.stop = stop or Stop()
        self.stage = "preparing the request"

    def left(self) -> float:
        """Seconds, more than none.

        :raises TimeoutError: when there are none left
        :raises Stopped: when the call was asked to stop
        """
        self.go_on()
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds

    def go_on(self) -> None:
        """Raises Stopped when the call was asked to stop."""
        if self.stop.reason is not None:
            raise Stopped

    def breaking(self, sock: socket.socket) -> AbstractContextManager[None]:
        """Whoever waits for this socket waits no more when the call is asked to stop, while this lasts."""

        def shut_down() -> None:
            with suppress(OSError):
                # Not TLS's own way, which would let others send in the clear until it is done.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

        return interruptible(self.stop, shut_down)


class Wire:
    """A connected socket that gives up when the countdown ends. `HTTPResponse` takes it for a socket."""

    def __init__(self, sock: socket.socket, countdown: Countdown) -> None:
        self._sock = sock
        self._countdown = countdown
        self._reader = io.BufferedReader(_Incoming(sock, countdown))
        self._open = ExitStack()

    def send(self, content: bytes) -> None:
        """Send all of it, or as much as the peer takes before it hangs up: it may have answered already."""
        for start in range(0, len(content), _TLS_RECORD):
            self._sock.settimeout(self._countdown.left())
            try:
                self._sock.sendall(content[start : start + _TLS_RECORD])
            except (ConnectionError, ssl.SSLEOFError):
                return

    def makefile(self, _mode: str) -> io.BufferedIOBase:
        """The one reader of this connection."""
        return self._reader

    def __enter__(self) -> Self:
        self._open.enter_context(self._countdown.breaking(self._sock))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._reader.close()
        self._sock.close()


class _Incoming(io.RawIOBase):
    """Each read waits no longer than what is left; all of them together take no more than `MAX_REPLY`."""

    def __init__(self, sock: socket.socket, countdown: Countdown) -> None:
        self._sock = sock
        self._countdown = countdown
        self._taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        self._sock.settimeout(self._countdown.left())
        count = self._sock.recv_into(buffer)
        if not count:
            self._countdown.go_on()  # an end that we made ourselves is none
        self._taken += count
        if self._taken > MAX_REPLY:
            raise HTTPException(f"more than {MAX_REPLY} bytes of headers and framing")
        return count


def connect(addresses: Sequence[Address], port: int, countdown: Countdown) -> socket.socket:
    """A connection to the first address that takes it. One that is silent leaves time for those after it.

    :raises OSError: of the last address when none does
    """
    tried = addresses[:_ADDRESSES_TRIED]
    for later, address in zip(range(len(tried) - 1, 0, -1), tried, strict=False):
        try:
            return _connect(address, port, countdown, later + 1)
        except OSError:
            continue
    return _connect(tried[-1], port, countdown)


def _connect(address: Address, port: int, countdown: Countdown, share: int = 1) -> socket.socket:
    sock = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
    try:
        sock.settimeout(countdown.left() / share)
        with countdown.breaking(sock):
            sock.connect((str(address), port))
    except BaseException:
        sock.close()
        raise
    return sock


def tls_context() -> ssl.SSLContext:
    """Trusts what the system trusts (or `SSL_CERT_FILE`), and checks the certificate's name."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def secure(sock: socket.socket, context: ssl.SSLContext, name: str, countdown: Countdown) -> ssl.SSLSocket:
    """TLS over the connection, with the peer proven to be `name`.

    :raises OSError: when it is not, or the handshake fails; the socket is closed then
    """
    secured = None
    try:
        sock.settimeout(countdown.left())
        secured = context.wrap_socket(sock, server_hostname=name, do_handshake_on_connect=False)
        with countdown.breaking(secured):
            secured.do_handshake()
    except BaseException:
        (secured or sock).close()
        raise
    return secured
