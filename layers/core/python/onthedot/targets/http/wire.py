"""A connection whose every operation obeys the countdown of the call, and which a request to stop breaks."""

import io
import socket
import ssl
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from http.client import HTTPException
from typing import TYPE_CHECKING, Final, Self

from onthedot.core.ports import RESULT_BYTES
from onthedot.targets.addresses import Address
from onthedot.targets.countdown import Countdown, interruptible

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_REPLY: Final = 2 * RESULT_BYTES
"""The most bytes that are read from a peer, headers and framing included, whatever the parser asks for."""
_ADDRESSES_TRIED: Final = 4
_TLS_RECORD: Final = 16 * 1024
"""The size of a write that OpenSSL does at once. Each write may take only the time that is left."""


class Wire:
    """A connected socket that gives up when the countdown ends. `HTTPResponse` uses it like a socket."""

    def __init__(self, sock: socket.socket, countdown: Countdown) -> None:
        self._sock = sock
        self._countdown = countdown
        self._reader = io.BufferedReader(_Incoming(sock, countdown))
        self._open = ExitStack()

    def send(self, content: bytes) -> None:
        """Send the content, or as much as the peer reads before it closes: it may have answered already."""
        for start in range(0, len(content), _TLS_RECORD):
            self._sock.settimeout(self._countdown.left())
            try:
                self._sock.sendall(content[start : start + _TLS_RECORD])
            except (ConnectionError, ssl.SSLEOFError):
                return

    def makefile(self, _mode: str) -> io.BufferedIOBase:
        return self._reader

    def __enter__(self) -> Self:
        self._open.enter_context(_broken_by_stop(self._sock, self._countdown))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._reader.close()
        self._sock.close()


class _Incoming(io.RawIOBase):
    """The incoming bytes. Each read waits no longer than the time left, and all together read at most `MAX_REPLY`."""

    def __init__(self, sock: socket.socket, countdown: Countdown) -> None:
        self._sock = sock
        self._countdown = countdown
        self._received = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        self._sock.settimeout(self._countdown.left())
        count = self._sock.recv_into(buffer)
        if not count:
            self._countdown.raise_if_stopped()  # then our side closed the connection, not the peer
        self._received += count
        if self._received > MAX_REPLY:
            raise HTTPException(f"more than {MAX_REPLY} bytes of headers and framing")
        return count


def connect(addresses: Sequence[Address], port: int, countdown: Countdown) -> socket.socket:
    """Connect to the first address that accepts.

    An address that does not answer leaves time for the addresses after it. Raise the OSError of the last address when
    none accepts.
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
        with _broken_by_stop(sock, countdown):
            sock.connect((str(address), port))
    except BaseException:
        sock.close()
        raise
    return sock


def tls_context() -> ssl.SSLContext:
    """Return a context that trusts the system's roots (or `SSL_CERT_FILE`) and checks the certificate's name."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def secure(sock: socket.socket, context: ssl.SSLContext, name: str, countdown: Countdown) -> ssl.SSLSocket:
    """Set up TLS over the connection with a peer whose certificate has this name.

    Raise OSError, and close the socket, when it has another name or the handshake fails.
    """
    secured = None
    try:
        sock.settimeout(countdown.left())
        secured = context.wrap_socket(sock, server_hostname=name, do_handshake_on_connect=False)
        with _broken_by_stop(secured, countdown):
            secured.do_handshake()
    except BaseException:
        (secured or sock).close()
        raise
    return secured


def _broken_by_stop(sock: socket.socket, countdown: Countdown) -> AbstractContextManager[None]:
    """Shut the socket down when the call is asked to stop inside this block. That ends every wait for it."""

    def shut_down() -> None:
        with suppress(OSError):
            # Not TLS's own shutdown: until that ends, another thread could send in the clear.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    return interruptible(countdown.stop, shut_down)
