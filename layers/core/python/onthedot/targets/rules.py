"""What a target may look like: methods, URLs, hosts, headers, gRPC names, and what the stage allows.

Each `check_…` returns what it accepts, and raises BadTarget.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import IPv6Address
from typing import Any, Final, Literal, get_args
from urllib.parse import SplitResult, urlsplit

from onthedot.core.errors import OnthedotError
from onthedot.targets.types import GrpcTarget, HttpTarget


class BadTarget(OnthedotError, ValueError):
    """A target that no worker can call. Another attempt does not help.

    The message says what to change and repeats no secret. It is a ValueError so that pydantic names the field.
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(f"{field} {message}" if field else message)
        self.message = message


@contextmanager
def _naming(field: str) -> Iterator[None]:
    """Name the field in the refusals that the block raises, as the API names it."""
    try:
        yield
    except BadTarget as error:
        raise BadTarget(error.message, field) from None


def _check_length(text: str, limit: int) -> None:
    if len(text) > limit:
        raise BadTarget(f"is too long; give at most {limit} characters")


@dataclass(frozen=True, slots=True)
class AllowedCall:
    """One allowed action of an AWS service. IAM knows on which resources."""

    service: str
    """boto3's name of the service, such as `sqs`."""
    action: str
    """The name of the API call, such as `SendMessage`."""


@dataclass(frozen=True, slots=True)
class AllowList:
    """The functions and AWS calls that jobs may name."""

    functions: tuple[str, ...] = ()
    """Names or ARNs of Lambda functions. `*` matches any characters, `?` matches one."""
    calls: tuple[AllowedCall, ...] = ()

    def allows_function(self, function: str) -> bool:
        """Match a name by name, and an ARN as a whole or by the name in it."""
        names = {function, function_name(function)} if _is_whole_arn(function) else {function}
        return any(fnmatchcase(name, pattern) for name in names for pattern in self.functions)

    def allows_call(self, service: str, action: str) -> bool:
        return AllowedCall(service, action) in self.calls


def function_name(function: str) -> str:
    """Return the name in an ARN `arn:…:function:name[:version]`, or in `name[:version]`."""
    parts = function.split(":")
    return parts[6] if _is_whole_arn(function) else parts[0]


def _is_whole_arn(function: str) -> bool:
    return function.startswith("arn:") and function.count(":") >= 6


def to_json(allowed: AllowList) -> dict[str, Any]:
    return {
        "functions": list(allowed.functions),
        "calls": [f"{call.service}:{call.action}" for call in allowed.calls],
    }


def from_json(stored: Mapping[str, Any]) -> AllowList:
    """Return the allow-list that `to_json` wrote. Raise ValueError or TypeError for anything else."""
    calls = [call.split(":") for call in stored.get("calls", ())]
    return AllowList(tuple(stored.get("functions", ())), tuple(AllowedCall(*call) for call in calls))


MAX_HEADERS: Final = 50
MAX_HEADER_BYTES: Final = 8 * 1024

_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE: Final = re.compile(r"[\x20-\x7e\xa0-\xff]*")
"""Latin-1 without control characters. The tab, which HTTP would allow, is one of them."""
_ABOUT_THE_RUN: Final = ("x-onthedot-", "webhook-")
_IDEMPOTENCY_KEY: Final = "idempotency-key"
_FRAMING: Final = frozenset(
    # They frame the message or manage the connection. `Expect` asks the target for an interim answer, for which the
    # caller would have to wait.
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection"}
    | {"te", "trailer", "upgrade", "expect"}
)


def is_about_the_run(name: str) -> bool:
    """Return whether the scheduler sets this header, in any spelling, to describe or sign the run."""
    return name.lower() == _IDEMPOTENCY_KEY or name.lower().startswith(_ABOUT_THE_RUN)


def check_header_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BadTarget("is not a header name; use letters, digits and hyphens")
    if is_about_the_run(name) or name.lower() in _FRAMING:
        raise BadTarget("is set by the scheduler or the connection itself; remove it")
    return name


def check_header_value(value: str) -> str:
    if not _VALUE.fullmatch(value) or value != value.strip():
        raise BadTarget("has line breaks, control or non-Latin-1 characters or outer spaces; remove them")
    return value


def check_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Raise BadTarget when the headers are too many, too long, or name one header in two spellings."""
    if len(headers) > MAX_HEADERS:
        raise BadTarget(f"has too many entries; give at most {MAX_HEADERS}")
    if len({name.lower() for name in headers}) != len(headers):
        raise BadTarget("has one header in two spellings; keep one of them")
    size = sum(len(name) + len(value) + len(": \r\n") for name, value in headers.items())
    if size > MAX_HEADER_BYTES:
        raise BadTarget(f"is {size:,} bytes, but the limit is {MAX_HEADER_BYTES:,}; shorten the headers")
    return headers


_AUTHORITY: Final = re.compile(r"(?P<host>\[.*\]|[^:]*)(:(?P<port>.*))?")
_HOST_NAME: Final = re.compile(r"(?=.{1,253}\.?\Z)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_PORT: Final = re.compile(r"0*[0-9]{1,5}", re.ASCII)


def split_authority(authority: str) -> tuple[str, str]:
    """Split `host:port` into its two texts, either of which may be empty or invalid."""
    match = _AUTHORITY.fullmatch(authority)
    return (match["host"], match["port"] or "") if match else ("", "")


def is_host(host: str) -> bool:
    """Return whether the text is a name, an IPv4 address, or an IPv6 address in brackets and without a zone.

    Other spellings of IPv4 addresses (`127.1`, `0x7f000001`) are names here. The operating system resolves them, and
    the resulting address is checked.
    """
    if not (host.startswith("[") and host.endswith("]")):
        return _HOST_NAME.fullmatch(host) is not None
    try:
        return IPv6Address(host[1:-1]).scope_id is None
    except ValueError:
        return False


def port_number(text: str) -> int | None:
    return int(text) if _PORT.fullmatch(text) and 0 < int(text) < 65_536 else None


Method = Literal["POST", "PUT", "PATCH", "GET", "DELETE", "HEAD", "OPTIONS"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)
MAX_URL: Final = 2_048

_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})
_PORTS: Final = {"http": 80, "https": 443}
_CHARACTERS: Final = re.compile(r"[\x21-\x5b\x5d-\x7e]*")
"""Visible ASCII without the backslash, which some parsers of URLs read as a slash and others do not."""


@dataclass(frozen=True, slots=True)
class HttpDestination:
    """A URL that can be called, without its fragment."""

    scheme: str
    host: str
    """In lower case. An IPv6 address has no brackets."""
    port: int
    path: str
    """The path and the query, as in a request line."""

    @property
    def secure(self) -> bool:
        return self.scheme == "https"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Two URLs with the same origin belong to the same owner."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """Host and port as the `Host` header has them."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _PORTS[self.scheme] else f"{name}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def tls_name(self) -> str:
        """The name that the certificate must have. The dot that may end a full name is not part of it."""
        return self.host.removesuffix(".")


def has_body(method: str) -> bool:
    return method not in _WITHOUT_BODY


def body_of(method: str, payload: bytes) -> bytes | None:
    """Return the body of a request, or None for a method that has none.

    The signature and the request both take the bytes from here. A request without a body is signed as an empty one.
    """
    return payload if has_body(method) else None


def check_target(target: HttpTarget) -> HttpDestination:
    """Apply every rule to a target, and return where its first request goes.

    Raise BadTarget with the field's name as the API shows it.
    """
    with _naming("target.method"):
        check_method(target.method)
    for name, value in target.headers.items():
        with _naming(f"target.headers.{name}"):
            check_header_name(name)
            check_header_value(value)
    with _naming("target.headers"):
        check_headers(target.headers)
    with _naming("target.url"):
        return destination_of(check_url(target.url))


def check_method(method: str) -> str:
    if method not in METHODS:
        choices = [f"'{name}'" for name in METHODS]
        raise BadTarget(f"is not one of the choices; give {', '.join(choices[:-1])} or {choices[-1]}")
    return method


def check_url(url: str) -> str:
    _check_length(url, MAX_URL)
    destination_of(url)
    return url


def destination_of(url: str) -> HttpDestination:
    """Split a URL into its parts. Raise BadTarget when it cannot be called.

    The length is not limited here: a redirect may lead to a URL with a long signature, which is not stored.
    """
    check_characters(url)
    parts = _split(url)
    # The authority is read here, since `urlsplit` ignores text around the brackets of an IPv6 address.
    host, port = split_authority(parts.netloc)
    if not is_host(host):
        raise BadTarget("has no valid host; give a name or an address, such as https://example.com/hook")
    number = port_number(port) if port else _PORTS[parts.scheme]
    if number is None:
        raise BadTarget("has an invalid port; give one from 1 to 65535 or none")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return HttpDestination(parts.scheme, host.strip("[]").lower(), number, path)


def check_characters(text: str) -> None:
    """Raise BadTarget when a URL, or a relative one, has a character that parsers of URLs read differently."""
    if not _CHARACTERS.fullmatch(text):
        raise BadTarget(
            "has spaces, control or non-ASCII characters or a backslash; "
            "percent-encode them, and give the host as punycode"
        )


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise BadTarget("has no valid host; give a name or an address, such as https://example.com/hook") from error
    if parts.scheme not in _PORTS:
        raise BadTarget("has no http:// or https:// scheme; begin it with one")
    if "@" in parts.netloc:
        raise BadTarget("has credentials in it; send them in an Authorization header")
    return parts


MAX_ADDRESS: Final = 255
MAX_METHOD: Final = 255
_GRPC_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_METHOD: Final = re.compile(rf"(?P<service>{_GRPC_NAME}(\.{_GRPC_NAME})*)/(?P<method>{_GRPC_NAME})")


@dataclass(frozen=True, slots=True)
class GrpcDestination:
    host: str
    """An IPv6 address has no brackets."""
    port: int
    service: str
    method: str
    tls: bool | None

    @property
    def authority(self) -> str:
        """Host and port as the request's `:authority` has them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def grpc_destination_of(target: GrpcTarget) -> GrpcDestination:
    """Apply every rule to a target and return its parts.

    Raise BadTarget with the field's name as the API shows it.
    """
    with _naming("target.address"):
        check_address(target.address)
    with _naming("target.method"):
        service, _, method = check_grpc_method(target.method).partition("/")
    host, port = split_authority(target.address)
    if host.startswith("["):
        host = str(IPv6Address(host[1:-1]))
    return GrpcDestination(host, int(port), service, method, target.tls)


def check_address(address: str) -> str:
    _check_length(address, MAX_ADDRESS)
    host, port = split_authority(address)
    if not is_host(host) or port_number(port) is None:
        raise BadTarget("is not host:port; give a name or an address and a port, such as orders.example.com:443")
    return address


def check_grpc_method(method: str) -> str:
    """Return the method without a leading slash."""
    _check_length(method, MAX_METHOD)
    name = method.removeprefix("/")
    if not _METHOD.fullmatch(name):
        raise BadTarget("is not package.Service/Method; give it as the service's .proto names it")
    return name
