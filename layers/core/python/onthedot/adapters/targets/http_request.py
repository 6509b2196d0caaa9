"""The request that an HTTP target receives: what the user defined, checked, and the headers that are ours."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from onthedot import __version__
from onthedot.domain.errors import OnthedotError
from onthedot.ports import Call

_PORTS: Final = {"http": 80, "https": 443}
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})
_OURS_PREFIX: Final = "x-onthedot-"
_NOT_FOR_USERS: Final = frozenset(
    # How the message is framed and the connection used; `Expect` would make the target wait for us.
    {"content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection"}
    | {"te", "trailer", "upgrade", "expect"}
)

_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
_HOST: Final = re.compile(r"(?=.{1,254}\Z)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
_FIELD_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class RequestError(OnthedotError):
    """The target is defined in a way that cannot be called. Trying again does not help."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request: where it goes, and its bytes."""

    secure: bool
    host: str
    port: int
    method: str
    content: bytes

    @property
    def tls_name(self) -> str:
        """The name that the certificate must bear: without the dot that may end a full name."""
        return self.host.removesuffix(".")


def request_for(call: Call) -> Request:
    """The request of one attempt.

    :raises RequestError: with a message that says what to change and repeats no secret
    """
    target = call.definition.target
    method = target.method.upper()
    if method not in _METHODS:
        raise RequestError(f"method {target.method[:20]!r} is not supported")
    parts = _split(target.url)
    host, port = _host(parts), _port(parts)
    body = b"" if method in _WITHOUT_BODY else call.payload
    fields = _fields(call, _host_field(host, port, parts.scheme), None if method in _WITHOUT_BODY else len(body))
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    head = f"{method} {path} HTTP/1.1\r\n{''.join(_render(fields))}\r\n"
    return Request(parts.scheme == "https", host, port, method, head.encode("latin-1") + body)


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


def _host_field(host: str, port: int, scheme: str) -> str:
    name = f"[{host}]" if ":" in host else host
    return name if port == _PORTS[scheme] else f"{name}:{port}"


def _fields(call: Call, host: str, length: int | None) -> Mapping[str, tuple[str, str]]:
    """Header fields by lower-case name: defaults, then the user's, then ours, which win."""
    defaults = {"Accept-Encoding": "identity", "User-Agent": f"onthedot/{__version__}"}
    if length is not None:
        defaults["Content-Type"] = "application/json"
    ours = {
        "Host": host,
        "Connection": "close",
        "Idempotency-Key": call.run_id,
        "X-Onthedot-Job": call.job_id,
        "X-Onthedot-Run": call.run_id,
        "X-Onthedot-Attempt": str(call.attempt),
        "X-Onthedot-Fire-Time": _rfc3339(call.nominal_at),
    }
    if length is not None:
        ours["Content-Length"] = str(length)
    users = {name: value for name, value in call.definition.target.headers.items() if _is_free(name)}
    return {name.lower(): (name, value) for part in (defaults, users, ours) for name, value in part.items()}


def _is_free(name: str) -> bool:
    return name.lower() not in _NOT_FOR_USERS and not name.lower().startswith(_OURS_PREFIX)


def _render(fields: Mapping[str, tuple[str, str]]) -> Iterable[str]:
    for name, value in fields.values():
        if not _FIELD_NAME.fullmatch(name):
            raise RequestError(f"{name[:80]!r} is not a header name")
        if not _FIELD_VALUE.fullmatch(value):
            raise RequestError(f"the value of header {name[:80]} holds a line break or a character beyond Latin-1")
        yield f"{name}: {value}\r\n"


def _rfc3339(at: int) -> str:
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at)
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
