"""The connection of a command to the API. It loads in a quarter of the time of the pool that the client library has."""

import http.client
import select
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode, urlsplit

from onthedot.client.transport import NoAnswer, Reply

CONNECT_SECONDS: Final = 5.0
READ_SECONDS: Final = 30.0


class OneConnection:
    """A `Transport` over one connection, which stays open. It is for one thread, and retries nothing."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        parts = urlsplit(self._url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._before = parts.path
        self._connection = kind(parts.hostname or "", parts.port, timeout=CONNECT_SECONDS)

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        """Return the reply, whatever its status. Raise NoAnswer when none came in time."""
        self._connect()
        target = self._before + path + (f"?{urlencode(query)}" if query else "")
        try:
            self._connection.request(method, target, body, dict(headers))
            reply = self._connection.getresponse()
            data = reply.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise NoAnswer(f"{self._url} did not answer: {_why(error)}", may_have_arrived=True) from error
        return Reply(reply.status, data, {name.lower(): value for name, value in reply.getheaders()})

    def close(self) -> None:
        """Close the connection. The next request opens it again."""
        self._connection.close()

    def _connect(self) -> None:
        """Open the connection, also when the server has closed it meanwhile, as it does with idle ones."""
        if self._connection.sock is not None and _is_readable(self._connection):
            self.close()
        if self._connection.sock is not None:
            return
        try:
            self._connection.connect()
        except OSError as error:
            self.close()
            raise NoAnswer(f"{self._url} cannot be reached: {_why(error)}", may_have_arrived=False) from error
        _allow_long_reads(self._connection)


def _is_readable(connection: http.client.HTTPConnection) -> bool:
    """Return whether something came without a request: the end of the connection, or nothing that belongs there."""
    return bool(select.select([connection.sock], [], [], 0)[0])


def _allow_long_reads(connection: http.client.HTTPConnection) -> None:
    connection.sock.settimeout(READ_SECONDS)


def _why(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).strip()
