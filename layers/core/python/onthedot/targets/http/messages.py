"""The request that an HTTP target receives, the request that follows a redirect, and the reply with its meaning."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Final, cast
from urllib.parse import urljoin

from onthedot import __version__
from onthedot.core.errors import OnthedotError
from onthedot.core.ports import RESULT_BYTES, Answer, Call
from onthedot.targets.answers import MAX_RETRY_AFTER_MS, attempt_facts, printable, result_text, retry_after_seconds_ms
from onthedot.targets.http.wire import Wire
from onthedot.targets.rules import (
    BadTarget,
    HttpDestination,
    body_of,
    check_characters,
    check_target,
    destination_of,
    has_body,
    is_about_the_run,
)
from onthedot.targets.types import HttpTarget


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    destination: HttpDestination
    method: str
    fields: Mapping[str, str]
    """Header fields without those of the framing. All are checked, and no name occurs twice."""
    body: bytes | None
    """None for a request that has no body and announces none."""

    @property
    def content(self) -> bytes:
        framing = {"Host": self.destination.authority, "Connection": "close"}
        if self.body is not None:
            framing["Content-Length"] = str(len(self.body))
        head = "".join(f"{name}: {value}\r\n" for name, value in {**framing, **self.fields}.items())
        return f"{self.method} {self.destination.path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + (self.body or b"")


def request_for(call: Call) -> OutgoingRequest:
    """Return the first request of one attempt.

    Raise BadTarget when the target breaks a rule: it may have been stored under older rules than those of today's API.
    """
    target = call.definition.target
    assert isinstance(target, HttpTarget), "the router passes each performer its own type"
    destination = check_target(target)
    body = body_of(target.method, call.payload)
    return OutgoingRequest(destination, target.method, _fields(call, target, has_body=body is not None), body)


def _fields(call: Call, target: HttpTarget, *, has_body: bool) -> dict[str, str]:
    """Merge defaults, the user's headers and the scheduler's. The later one wins, in any spelling of the name."""
    defaults = {"Accept-Encoding": "identity", "User-Agent": f"onthedot/{__version__}"}
    if has_body:
        defaults["Content-Type"] = "application/json"
    if call.traceparent:
        defaults["Traceparent"] = call.traceparent
    facts = attempt_facts(call)
    about_the_run = {
        "Idempotency-Key": facts["idempotency_key"],
        "X-Onthedot-Job": facts["job"],
        "X-Onthedot-Run": facts["run"],
        "X-Onthedot-Attempt": facts["attempt"],
        "X-Onthedot-Fire-Time": facts["fire_time"],
        **call.signature,
    }
    merged = {
        name.lower(): (name, value)
        for part in (defaults, target.headers, about_the_run)
        for name, value in part.items()
    }
    return dict(merged.values())


MAX_REDIRECTS: Final = 5
_SEE_OTHER: Final = 303
_MOVED: Final = frozenset({301, 302})
"""Statuses that were meant to repeat the request and that clients answer with a GET. Safe only for requests without
a body."""
REDIRECTS: Final = _MOVED | {_SEE_OTHER, 307, 308}

_ABOUT_THE_BODY: Final = ("content-", "webhook-")
_NO_SECRETS: Final = ("accept", "content-", "user-agent")
"""Prefixes of the user's headers that another owner may see. Any other header may hold a secret."""


class RedirectError(OnthedotError):
    """A redirect that is not followed. Another attempt does not help."""


def redirected(request: OutgoingRequest, status: int, location: str) -> OutgoingRequest:
    """Return the request to make next.

    The message of RedirectError says what to change, and shows no more of the location than its host.
    """
    destination = _destination(request.destination, status, location)
    if status in _MOVED and has_body(request.method):
        raise RedirectError(
            f"answered {status}, a redirect to {_shown(destination)} that is not followed for {request.method}; "
            "change the url to its destination, or let the target answer 307 or 308"
        )
    if request.destination.secure and not destination.secure:
        raise RedirectError(
            f"answered {status}, a redirect from https to plain http at {_shown(destination)}: not followed"
        )
    following = _without_body(request) if status == _SEE_OTHER else request
    if destination.origin != request.destination.origin:
        following = _without_secrets(following)
    return replace(following, destination=destination)


def too_many(request: OutgoingRequest) -> RedirectError:
    last = _shown(request.destination)
    return RedirectError(f"redirected more than {MAX_REDIRECTS} times, the last time to {last}; change the url")


def _destination(base: HttpDestination, status: int, location: str) -> HttpDestination:
    if not location:
        raise RedirectError(f"answered {status}, a redirect without a location")
    try:
        # Before the URLs are joined: `urljoin` silently removes tabs.
        check_characters(location)
        return destination_of(urljoin(base.url, location))
    except BadTarget as error:
        why = f"its location {error}"
    except ValueError as error:
        why = printable(str(error), 100)
    raise RedirectError(f"answered {status}, a redirect that cannot be followed: {why}")


def _without_body(request: OutgoingRequest) -> OutgoingRequest:
    """Return a GET without the headers that describe or sign the body."""
    if request.body is None:
        return request
    fields = {name: value for name, value in request.fields.items() if not name.lower().startswith(_ABOUT_THE_BODY)}
    return replace(request, method="GET", fields=fields, body=None)


def _without_secrets(request: OutgoingRequest) -> OutgoingRequest:
    """Drop the headers that the user meant for the first owner only.

    They stay away even when a later redirect leads to the first owner again.
    """
    fields = {
        name: value
        for name, value in request.fields.items()
        if is_about_the_run(name) or name.lower().startswith(_NO_SECRETS)
    }
    return replace(request, fields=fields)


def _shown(destination: HttpDestination) -> str:
    return printable(destination.host, 100)


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
    """Read the final reply. Raise HTTPException when it is not HTTP or breaks off, and OSError."""
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
    raise HTTPException(f"{_MAX_INTERIM} interim responses and no final one")


def _whole(response: HTTPResponse) -> Reply:
    head = Reply(
        status=response.status,
        location=response.getheader("Location") or "",
        retry_after=response.getheader("Retry-After") or "",
    )
    return head if head.is_redirect else replace(head, body=_body(response, head))


def _body(response: HTTPResponse, head: Reply) -> bytes:
    """Read the body up to the limit of a result, or as much of a failure's as an excerpt needs. Leave the rest unread.

    A body that breaks off raises only when the status says success.
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
    if (wait := retry_after_seconds_ms(value)) is not None:
        return wait
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    wait = int((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() * 1000) - now
    return None if wait < 0 else min(wait, MAX_RETRY_AFTER_MS)


def _answered(reply: Reply) -> str:
    excerpt = printable(reply.body.decode("utf-8", errors="replace"), _MAX_EXCERPT)
    return f"answered {reply.status}: {excerpt}" if excerpt else f"answered {reply.status}"
