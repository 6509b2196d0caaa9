"""What an HTTP target answered, and what that means for the run."""

import re
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Final, cast
from urllib.parse import urlsplit

from onthedot.adapters.targets.http_wire import Wire
from onthedot.ports import Answer

MAX_BODY: Final = 64 * 1024
"""Bytes of a body that are read; the rest is left unread."""
MAX_RESULT: Final = 1024
"""Characters of a body that are kept."""
MAX_RETRY_AFTER_MS: Final = 24 * 60 * 60 * 1000
_MAX_EXCERPT: Final = 200
_MAX_INTERIM: Final = 10
_MAY_PASS: Final = frozenset({408, 425, 429})
"""Answers of the 4xx kind that speak of the moment, not of the request."""
_SECONDS: Final = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Reply:
    """The final answer of a target, as far as it matters."""

    status: int
    body: bytes = b""
    location: str = ""
    retry_after: str = ""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_redirect(self) -> bool:
        return 300 <= self.status < 400

    @property
    def retryable(self) -> bool:
        return not (self.is_redirect or 400 <= self.status < 500) or self.status in _MAY_PASS


def receive(wire: Wire, method: str) -> Reply:
    """Read the final reply to a request.

    :raises HTTPException: when it is not HTTP, or breaks off
    :raises OSError: when the connection breaks or the time is over
    """
    # http.client skips 100 only. A response that is collected closes the reader: interim ones are kept until the end.
    seen: list[HTTPResponse] = []
    while len(seen) < _MAX_INTERIM:
        response = HTTPResponse(cast("socket.socket", wire), method=method)
        seen.append(response)
        try:
            response.begin()
            if response.status == 101 or response.status >= 200:
                return _whole(response)
        except OSError:  # of which some, in ssl, are values too
            raise
        except ValueError as error:
            raise HTTPException(str(error)) from error
    raise HTTPException(f"{_MAX_INTERIM} interim answers and no final one")


def _whole(response: HTTPResponse) -> Reply:
    head = Reply(
        status=response.status,
        location=response.getheader("Location") or "",
        retry_after=response.getheader("Retry-After") or "",
    )
    return head if head.is_redirect else Reply(head.status, _body(response, head), head.location, head.retry_after)


def _body(response: HTTPResponse, head: Reply) -> bytes:
    """The body: all that is asked for when the call succeeded, else what there is of it, for the error."""
    try:
        body = response.read(MAX_BODY)
        if response.length and len(body) < MAX_BODY:
            raise IncompleteRead(body, response.length)
    except (OSError, HTTPException, ValueError):
        if head.ok:
            raise
        return b""
    return body


def judge(reply: Reply, now: int) -> Answer:
    """What the reply means; `now` is what a date in `Retry-After` is compared with."""
    if reply.ok:
        return Answer(ok=True, result=_text(reply.body)[:MAX_RESULT] or None)
    return Answer(
        ok=False,
        error=_redirected(reply) if reply.is_redirect else _answered(reply),
        retryable=reply.retryable,
        retry_after_ms=retry_after_ms(reply.retry_after, now) if reply.retryable else None,
    )


def retry_after_ms(value: str, now: int) -> int | None:
    """The wait that a `Retry-After` asks for, in seconds or as a date; None for what is past or makes no sense."""
    value = value.strip()
    wait = int(value) * 1000 if _SECONDS.fullmatch(value) else _until(value, now)
    return None if wait is None or wait < 0 else min(wait, MAX_RETRY_AFTER_MS)


def _until(value: str, now: int) -> int | None:
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    aware: datetime = date if date.tzinfo else date.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000) - now


def _answered(reply: Reply) -> str:
    excerpt = printable(_text(reply.body), _MAX_EXCERPT)
    return f"answered {reply.status}: {excerpt}" if excerpt else f"answered {reply.status}"


def _redirected(reply: Reply) -> str:
    try:
        host = urlsplit(reply.location).hostname
    except ValueError:
        host = None
    where = f"to {printable(host, 100)}" if host else "without another host"
    return f"answered {reply.status}, a redirect {where}; redirects are not followed"


def _text(body: bytes) -> str:
    return body.decode("utf-8", errors="replace")


def printable(text: str, limit: int) -> str:
    """One line of what a peer sent, fit for an error message."""
    line = " ".join(text[: limit * 4].split())
    return "".join(letter if letter.isprintable() else "?" for letter in line)[:limit]
