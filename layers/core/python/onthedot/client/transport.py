"""The way of a request to the API and of its reply back. `HttpTransport` is the usual one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlencode

if TYPE_CHECKING:
    import urllib3

_CONNECT_SECONDS: Final = 5.0
_CONNECTIONS: Final = 16


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the API. The names of its headers are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class NoAnswer(Exception):
    """No whole reply came. `may_have_arrived` says whether the API may have got the request."""

    def __init__(self, message: str, *, may_have_arrived: bool) -> None:
        super().__init__(message)
        self.may_have_arrived = may_have_arrived


class Transport(Protocol):
    """Sends one request and returns its reply. It is safe to use from several threads, and retries nothing."""

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        """Return the reply, whatever its status. Raise NoAnswer when none came in time."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class HttpTransport:
    """A `Transport` over HTTP with a pool of connections that stay open."""

    def __init__(self, url: str, timeout: float = 30.0) -> None:
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._pool: urllib3.PoolManager | None = None

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        import urllib3  # noqa: PLC0415 - loading it would be most of the time of `import onthedot`

        if self._pool is None:
            self._pool = urllib3.PoolManager(maxsize=_CONNECTIONS)
        try:
            reply = self._pool.request(
                method,
                self._url + path + (f"?{urlencode(query)}" if query else ""),
                body=body,
                headers=dict(headers),
                timeout=urllib3.Timeout(connect=min(_CONNECT_SECONDS, self._timeout), read=self._timeout),
                retries=False,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error.__cause__, "strerror", None) or type(error).__name__
            why = f"{self._url} cannot be reached: {reason}"
            never_sent = isinstance(
                error,
                urllib3.exceptions.NewConnectionError
                | urllib3.exceptions.ConnectTimeoutError
                | urllib3.exceptions.SSLError,
            )
            raise NoAnswer(why, may_have_arrived=not never_sent) from error
        return Reply(reply.status, reply.data, {name.lower(): value for name, value in reply.headers.items()})

    def close(self) -> None:
        if self._pool is not None:
            self._pool.clear()
