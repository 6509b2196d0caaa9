"""Where an HTTP request goes: a url, taken apart and checked in the same way whoever gave it."""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from onthedot.domain.errors import OnthedotError

_PORTS: Final = {"http": 80, "https": 443}
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
_HOST: Final = re.compile(r"(?=.{1,254}\Z)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")


class RequestError(OnthedotError):
    """The target is defined in a way that cannot be called. Trying again does not help."""


@dataclass(frozen=True, slots=True)
class HttpDestination:
    """A url that can be called, without its fragment."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def secure(self) -> bool:
        return self.scheme == "https"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Two places that share it belong to the same owner."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """What stands in the `Host` header."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _PORTS[self.scheme] else f"{name}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def tls_name(self) -> str:
        """The name that the certificate must bear: without the dot that may end a full name."""
        return self.host.removesuffix(".")


def place_of(url: str) -> HttpDestination:
    """The url, if it can be called.

    :raises RequestError: with a message that says what to change and repeats no secret
    """
    parts = _split(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return HttpDestination(parts.scheme, _host(parts), _port(parts), path)


def _split(url: str) -> SplitResult:
    if not _VISIBLE.fullmatch(url):
        raise RequestError("the url must be ASCII without blanks: encode the host as punycode, the rest with %")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise RequestError(f"the url does not parse: {error}") from error
    if parts.scheme not in _PORTS:
        raise RequestError("the url must begin with http:// or https://")
    if "@" in parts.netloc:
        raise RequestError("the url must not hold credentials: send them in a header")
    return parts


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if not (_is_ipv6(host) if parts.netloc.startswith("[") else _HOST.fullmatch(host)):
        raise RequestError(f"{host[:80]!r} in the url is not a host name")
    return host


def _is_ipv6(host: str) -> bool:
    try:
        return not IPv6Address(host).scope_id
    except ValueError:
        return False


def _port(parts: SplitResult) -> int:
    try:
        port = _PORTS[parts.scheme] if parts.port is None else parts.port
    except ValueError:
        port = 0
    if not port:
        raise RequestError("the url's port must be between 1 and 65535")
    return port
