"""The rules for the URL and the method of an HTTP target, and the bytes of its body.

The API refuses targets by these rules. The performer splits each URL with the same function before it sends, also the
URLs of redirects. So a worker can call every target that the API accepts.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal, get_args
from urllib.parse import SplitResult, urlsplit

from onthedot.domain.targets.bad_target import BadTarget, check_length, naming
from onthedot.domain.targets.header_rules import check_header_name, check_header_value, check_headers
from onthedot.domain.targets.host_rules import is_host, port_number, split_authority
from onthedot.domain.targets.types import HttpTarget

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
    """The path and the query, as a request line has them."""

    @property
    def secure(self) -> bool:
        return self.scheme == "https"

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port. Two URLs with the same origin belong to the same owner."""
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
    """Return whether a request with this method carries the payload."""
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
    with naming("target.method"):
        check_method(target.method)
    for name, value in target.headers.items():
        with naming(f"target.headers.{name}"):
            check_header_name(name)
            check_header_value(value)
    with naming("target.headers"):
        check_headers(target.headers)
    with naming("target.url"):
        return destination_of(check_url(target.url))


def check_method(method: str) -> str:
    """Return the method. Raise BadTarget when it is not supported, which includes other spellings."""
    if method not in METHODS:
        choices = [f"'{name}'" for name in METHODS]
        raise BadTarget(f"is not one of the choices; give {', '.join(choices[:-1])} or {choices[-1]}")
    return method


def check_url(url: str) -> str:
    """Return the URL of a target. Raise BadTarget when it is too long to be stored, or cannot be called."""
    check_length(url, MAX_URL)
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
