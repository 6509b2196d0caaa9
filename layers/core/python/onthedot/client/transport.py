"""The HTTP of our own API, for clients, workers and commands. It sends one request at a time and repeats nothing.

`http.client` loads in a fifth of the time of urllib3, and is loaded by the first request.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from urllib.parse import urlencode, urlsplit

if TYPE_CHECKING:
    import socket
    import ssl
    from http.client import HTTPConnection, HTTPResponse

CONNECT_SECONDS: Final = 5.0
_IDLE_CONNECTIONS: Final = 16
_LARGEST_BODY: Final = 64 * 1024 * 1024
_WHOLE_BODY: Final = 10
"""A body that arrives bit by bit may take this many times the timeout of one read."""
_CHUNK: Final = 256 * 1024


class Reply(NamedTuple):
    """A reply of the API. The names of its headers are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}


class NoAnswer(Exception):
    """No whole reply came. `may_have_arrived` says whether the API may have got the request."""

    def __init__(self, message: str, *, may_have_arrived: bool) -> None:
        super().__init__(message)
        self.may_have_arrived = may_have_arrived


class Transport(Protocol):
    """Sends one request and returns its reply. It is safe to use from several threads, and repeats nothing."""

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        """Return the reply, whatever its status. Raise NoAnswer when none came in time."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class HttpTransport:
    """A `Transport` over HTTP with a pool of connections that stay open.

    `timeout` bounds each wait for the API in seconds, `connect` the opening of a connection. It follows no redirect,
    since that would send the token to another place.
    """

    def __init__(self, url: str, timeout: float = 30.0, *, connect: float = CONNECT_SECONDS) -> None:
        self._idle: list[HTTPConnection] = []
        self._url = url.rstrip("/")
        self._place = urlsplit(self._url)
        self._timeout = timeout
        self._connect_timeout = min(connect, timeout)
        self._tls: ssl.SSLContext | None = None

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        from http.client import HTTPException  # noqa: PLC0415 - see above

        connection = self._connected()
        try:
            with suppress(BrokenPipeError):  # the API may answer, such as 413, before it has read everything
                connection.request(method, self._place.path + path + _query(query), body, dict(headers))
            with connection.getresponse() as response:
                data = self._read(response)
        except (OSError, HTTPException) as error:
            connection.close()
            raise NoAnswer(f"{self._url} did not answer: {_why(error)}", may_have_arrived=True) from error
        if len(self._idle) < _IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.close()
        return Reply(response.status, data, {name.lower(): value for name, value in response.getheaders()})

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def __del__(self) -> None:
        self.close()

    def _connected(self) -> "HTTPConnection":
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._new()
        is_open = connection.sock is not None and not _has_ended(connection.sock)
        if not is_open:
            try:
                connection.close()
                connection.connect()
            except (OSError, UnicodeError) as error:  # a name that is too long is a UnicodeError
                connection.close()
                raise NoAnswer(f"{self._url} cannot be reached: {_why(error)}", may_have_arrived=False) from error
            connection.sock.settimeout(self._timeout)
        return connection

    def _new(self) -> "HTTPConnection":
        import http.client  # noqa: PLC0415 - see above

        host, port, timeout = self._place.hostname or "", self._place.port, self._connect_timeout
        if self._place.scheme != "https":
            return http.client.HTTPConnection(host, port or http.client.HTTP_PORT, timeout=timeout)
        if self._tls is None:
            import ssl  # noqa: PLC0415 - see above

            self._tls = ssl.create_default_context()
        return http.client.HTTPSConnection(host, port or http.client.HTTPS_PORT, timeout=timeout, context=self._tls)

    def _read(self, response: "HTTPResponse") -> bytes:
        from http.client import HTTPException, IncompleteRead  # noqa: PLC0415 - see above

        until = time.monotonic() + _WHOLE_BODY * self._timeout
        data = bytearray()
        while chunk := response.read1(_CHUNK):
            data += chunk
            if len(data) > _LARGEST_BODY:
                raise HTTPException(f"its answer has more than {_LARGEST_BODY:,} bytes")
            if time.monotonic() > until:
                raise TimeoutError("its answer takes too long")
        if response.length:
            raise IncompleteRead(b"", response.length)
        return bytes(data)


def _query(query: Mapping[str, str]) -> str:
    return f"?{urlencode(query)}" if query else ""


def _has_ended(sock: "socket.socket") -> bool:
    """Return whether the server has closed an idle connection, or sent what belongs to no request."""
    import selectors  # noqa: PLC0415 - `socket` has loaded it

    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def _why(error: Exception) -> Any:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).strip()
