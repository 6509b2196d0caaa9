"""What an HTTP target may look like: its url and its headers. Refusals are ValueErrors that say what to do.

Whether the address may be *called* (private networks) is decided by the worker after it resolved the name.
"""

import re
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import SplitResult, urlsplit

MAX_URL: Final = 2_048
MAX_HEADERS: Final = 50
MAX_HEADER_BYTES: Final = 8 * 1024

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE: Final = re.compile(r"[\x20-\x7e\xa0-\xff]*")
# Visible ASCII without the backslash, which some readers of URLs take for a slash and others do not.
_URL: Final = re.compile(r"[\x21-\x5b\x5d-\x7e]*")
_HOST: Final = re.compile(r"(?=.{1,253}\.?$)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_OURS: Final = frozenset({"idempotency-key", "host", "content-length", "transfer-encoding", "connection"})
_HOP_BY_HOP: Final = frozenset({"expect", "keep-alive", "proxy-connection", "te", "trailer", "upgrade"})
_OUR_PREFIXES: Final = ("x-onthedot-", "webhook-")


def check_url(url: str) -> str:
    """The url, if a worker can call it."""
    if not _URL.fullmatch(url):
        raise ValueError("has spaces, control or non-ASCII characters or a backslash; percent-encode them")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError("has an invalid host or port; give a port from 1 to 65535 or none") from error
    if parts.scheme not in ("http", "https"):
        raise ValueError("has no http:// or https:// scheme; begin it with one")
    _check_authority(parts, port)
    return url


def _check_authority(parts: SplitResult, port: int | None) -> None:
    if "@" in parts.netloc:
        raise ValueError("has credentials in it; send them in an Authorization header")
    if not is_host(re.sub(r":\d*$", "", parts.netloc)):
        raise ValueError("has no valid host; give a name or an address, such as https://example.com/hook")
    if port == 0:
        raise ValueError("has port 0; give a port from 1 to 65535 or none")


def is_host(host: str) -> bool:
    """By what stands in the url, for `urlsplit` overlooks text around the brackets of an IPv6 address."""
    if not (host.startswith("[") and host.endswith("]")):
        return _HOST.fullmatch(host) is not None
    try:
        return IPv6Address(host[1:-1]).scope_id is None
    except ValueError:
        return False


def check_header_name(name: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise ValueError("is not a header name; use letters, digits and hyphens")
    if _is_reserved(name.lower()):
        raise ValueError("is set by the scheduler or the connection itself; remove it")
    return name


def check_header_value(value: str) -> str:
    if not _VALUE.fullmatch(value) or value != value.strip():
        raise ValueError("has line breaks, control or non-Latin-1 characters or outer spaces; remove them")
    return value


def check_headers(headers: dict[str, str]) -> dict[str, str]:
    """What only all of them together can break."""
    if len({name.lower() for name in headers}) != len(headers):
        raise ValueError("has one header in two spellings; keep one of them")
    size = sum(len(name) + len(value) + len(": \r\n") for name, value in headers.items())
    if size > MAX_HEADER_BYTES:
        raise ValueError(f"is {size:,} bytes and may be {MAX_HEADER_BYTES:,}; shorten the headers")
    return headers


def _is_reserved(name: str) -> bool:
    return name in _OURS or name in _HOP_BY_HOP or name.startswith(_OUR_PREFIXES)
