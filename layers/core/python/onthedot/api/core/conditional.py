"""Conditional GET: an answer has a hash as its `ETag`, and a client that has it already gets 304 without a body."""

import hashlib
from dataclasses import replace
from typing import Final

from onthedot.api.core.http import Request, Response

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
