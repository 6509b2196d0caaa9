"""The reply of an HTTP target, and the answer that it means for the run."""

import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Final, cast

from onthedot.ports import RESULT_BYTES, Answer
from onthedot.targets.answers import MAX_RETRY_AFTER_MS, printable, result_text, retry_after_seconds_ms
from onthedot.targets.http.redirects import REDIRECTS
from onthedot.targets.http.wire import Wire

_MAX_EXCERPT: Final = 200
_MAX_ERROR_BODY: Final = 4096
"""Bytes that are read of a body of which only an excerpt is shown."""
_MAX_INTERIM: Final = 10
_MAY_PASS: Final = frozenset({408, 425, 429})
"""4xx statuses whose cause may pass: the same request may succeed later."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The parts of a target's final reply that matter."""

    status: int
    body: bytes = b""
    location: str = ""
    retry_after: str = ""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_redirect(self) -> bool:
        return self.status in REDIRECTS

    @property
    def retryable(self) -> bool:
        return not 300 <= self.status < 500 or self.status in _MAY_PASS


def receive(wire: Wire, method: str) -> Reply:
    """Read the final reply to a request.

    Raise HTTPException when it is not HTTP or breaks off, and OSError when the connection breaks or the time is over.
    """
    # http.client skips 100 only. A response that is garbage-collected closes the reader, so the list keeps them all.
    seen: list[HTTPResponse] = []
    while len(seen) < _MAX_INTERIM:
        response = HTTPResponse(cast("socket.socket", wire), method=method)
        seen.append(response)
        try:
            response.begin()
            if response.status == 101 or response.status >= 200:
                return _whole(response)
        except OSError:  # before ValueError, since some errors of ssl are both
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
    """Read the body up to the limit of a result. Of a failure, read only as much as an excerpt needs.

    Leave the rest unread. A body that breaks off raises only when the status says success.
    """
    limit = RESULT_BYTES if head.ok else _MAX_ERROR_BODY
    try:
        body = response.read(limit)
        if response.length and len(body) < limit:
            raise IncompleteRead(body, response.length)
    except (OSError, HTTPException, ValueError):
        if head.ok:
            raise
        return b""
    return body


def judge(reply: Reply, now: int) -> Answer:
    """Return the answer that the reply means. A date in `Retry-After` is compared with `now`."""
    if reply.ok:
        return Answer(ok=True, result=result_text(reply.body))
    return Answer(
        ok=False,
        error=_answered(reply),
        error_class=f"http_{reply.status}",
        retryable=reply.retryable,
        retry_after_ms=retry_after_ms(reply.retry_after, now) if reply.retryable else None,
    )


def retry_after_ms(value: str, now: int) -> int | None:
    """Return the wait that a `Retry-After` in seconds or as a date asks for, at most MAX_RETRY_AFTER_MS.

    None if it is past or not readable.
    """
    value = value.strip()
    wait = retry_after_seconds_ms(value)
    if wait is None:
        wait = _until(value, now)
    return None if wait is None or wait < 0 else min(wait, MAX_RETRY_AFTER_MS)


def _until(value: str, now: int) -> int | None:
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    aware: datetime = date if date.tzinfo else date.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000) - now


def _answered(reply: Reply) -> str:
    excerpt = printable(reply.body.decode("utf-8", errors="replace"), _MAX_EXCERPT)
    return f"answered {reply.status}: {excerpt}" if excerpt else f"answered {reply.status}"
