"""Send an answer to an ASGI server. Files of the console are compressed once, and kept."""

import gzip
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from onthedot.api.core.http import Response

LEAST_COMPRESSED: Final = 1024
"""A shorter text is sent as it is, as by API Gateway."""
_KEPT: Final = 256
"""Compressed texts in memory: more than the console has files."""

Send = Callable[[Mapping[str, Any]], Awaitable[None]]


async def send_response(send: Send, response: Response, asked: Iterable[tuple[bytes, bytes]]) -> None:
    """Send an answer to a request with these headers."""
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.headers.items()]
    text = response.text
    if _may_be_compressed(response, text) and _takes_gzip(asked):
        content = _compressed(text)
        headers.append((b"content-encoding", b"gzip"))
    else:
        content = text.encode("utf-8", "surrogatepass")
    if response.status != 304:  # it has no body, and a length would be that of the body it stands for
        headers.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _may_be_compressed(response: Response, text: str) -> bool:
    """Return whether the answer is one of the few fixed texts. To compress others costs more than to send them."""
    return response.headers.get("Vary") == "Accept-Encoding" and len(text) >= LEAST_COMPRESSED


def _takes_gzip(asked: Iterable[tuple[bytes, bytes]]) -> bool:
    accepted = b",".join(value for name, value in asked if name == b"accept-encoding").lower()
    choices = [[part.strip() for part in choice.split(b";")] for choice in accepted.split(b",")]
    return any(choice[0] in {b"gzip", b"*"} and b"q=0" not in choice[1:] for choice in choices)


@lru_cache(maxsize=_KEPT)
def _compressed(text: str) -> bytes:
    return gzip.compress(text.encode(), 9, mtime=0)
