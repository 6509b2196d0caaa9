"""The rules for headers of an HTTP target: the headers that users may set, and the headers that the scheduler sets."""

import re
from collections.abc import Mapping
from typing import Final

from onthedot.domain.targets.bad_target import BadTarget

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
    """Return the name. Raise BadTarget when it is not the name of a header, or users may not set this header."""
    if not _NAME.fullmatch(name):
        raise BadTarget("is not a header name; use letters, digits and hyphens")
    if is_about_the_run(name) or name.lower() in _FRAMING:
        raise BadTarget("is set by the scheduler or the connection itself; remove it")
    return name


def check_header_value(value: str) -> str:
    """Return the value. Raise BadTarget when the target would not receive it as it is."""
    if not _VALUE.fullmatch(value) or value != value.strip():
        raise BadTarget("has line breaks, control or non-Latin-1 characters or outer spaces; remove them")
    return value


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise BadTarget when the headers are too many, too long, or name one header in two spellings."""
    if len(headers) > MAX_HEADERS:
        raise BadTarget(f"has too many entries; give at most {MAX_HEADERS}")
    if len({name.lower() for name in headers}) != len(headers):
        raise BadTarget("has one header in two spellings; keep one of them")
    size = sum(len(name) + len(value) + len(": \r\n") for name, value in headers.items())
    if size > MAX_HEADER_BYTES:
        raise BadTarget(f"is {size:,} bytes and may be {MAX_HEADER_BYTES:,}; shorten the headers")
