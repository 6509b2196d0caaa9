"""Pages of lists: what they have in common, signed cursors, and conditional GET by ETag."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.access.signing_keys import keys_of
from onthedot.api.fields import Fields
from onthedot.api.http import Request, Response
from onthedot.api.route import RequestContext
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.core.ports import Page
from onthedot.core.records import Record

View = TypeVar("View")
_SIGNATURE_BYTES: Final = 12
MAX_CURSOR: Final = 4_096


def job_secret(job: Record) -> str:
    # A change of the job such as a cancel replaces its generation, and so ends the pages.
    return f"{job.job_id}/{job.generation}"


def sign_cursor(secret: str, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    content = cursor.encode()
    return base64.urlsafe_b64encode(_signature(secret, content) + content).decode().rstrip("=")


def open_cursor(secret: str, text: str | None) -> str | None:
    """Raise InvalidRequest when the cursor was not signed with this secret."""
    if text is None:
        return None
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    signature, content = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
    if len(text) > MAX_CURSOR or not hmac.compare_digest(signature, _signature(secret, content)):
        raise InvalidRequest(Problem("cursor", "is not a next_cursor of these pages; start without it"))
    return content.decode()


def _signature(secret: str, content: bytes) -> bytes:
    return hmac.digest(secret.encode(), content, hashlib.sha256)[:_SIGNATURE_BYTES]


def list_secret(context: RequestContext, what: str, asked: Fields) -> str:
    """Return the secret for pages of a list: the tenant's signing key, which viewers do not see, and the filters.

    So a cursor is valid only with the filters that it was made for, until the tenant rotates the key.
    """
    filters = asked.model_dump_json(exclude={"cursor", "limit"})
    return f"{keys_of(context.engine, context.tenant)[0].secret}/{what}/{filters}"


class UnreadableView(TypedDict):
    """A record that this version cannot read, and why."""

    id: str
    reason: str


def page_view(kind: Callable[..., View], name: str, items: Sequence[Any], page: Page[Any], secret: str) -> View:
    """Return a page of a list. It has records that cannot be read only if there are some."""
    unreadable: list[UnreadableView] = [{"id": one.run_id, "reason": one.why} for one in page.unreadable]
    view = {name: items, "next_cursor": sign_cursor(secret, page.cursor)}
    return kind(**view, unreadable=unreadable) if unreadable else kind(**view)


_NOT_WITH_304: Final = frozenset(("content-type", "content-length"))


def conditional(request: Request, response: Response) -> Response:
    """Return the answer with an `ETag`, or 304 when the client named that tag in `If-None-Match`.

    An answer that brings a tag of its own keeps it. A job's tag is its version, for `If-Match`: the job may change
    without it, so only a tag that was made of the whole body decides about a 304.
    """
    if request.method != "GET" or response.status != 200:
        return response
    own = response.headers.get("ETag")
    if own is not None and not response.etag_is_of_body:
        return response
    if own is None:
        text = response.text
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        own = f'"{digest}"'
        response = replace(response, rendered=text, headers={**response.headers, "ETag": own})
    return _not_modified(response) if _names(request.header("If-None-Match"), own) else response


def _names(header: str | None, tag: str) -> bool:
    """Return whether the header lists the tag. A proxy that compressed the body may have marked it as weak."""
    if header is None:
        return False
    listed = {each.strip().removeprefix("W/") for each in header.split(",")}
    return tag in listed or "*" in listed


def _not_modified(response: Response) -> Response:
    headers = {name: value for name, value in response.headers.items() if name.lower() not in _NOT_WITH_304}
    return Response(304, "", headers)
