"""The REST API behind an ASGI server: the same routes as on Lambda, with short writes gathered into shared commits."""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Final
from urllib.parse import parse_qsl

from onthedot.api.core.errors import error_response, response_to
from onthedot.api.core.http import Request, Response
from onthedot.api.core.router import handle
from onthedot.domain.errors import OnthedotError, Unavailable
from onthedot.serve.known_tokens import KnownTokens
from onthedot.serve.long_polls import LongPolls
from onthedot.serve.outgoing import send_response
from onthedot.serve.replies import Replies
from onthedot.wiring.embedded import Embedded

MOST_BODY: Final = 10 * 1024 * 1024
"""Most bytes of a request, as on API Gateway."""
BODY_SECONDS: Final = 30.0
"""How long a client may take to send a request."""
THREADS: Final = 16
"""Requests that are not short writes, side by side."""
_SHORT: Final = re.compile(r"/v1/jobs|/v1/executions/[^/]+/(?:complete|heartbeat)")
"""The POSTs that write little and never wait. They run in the writer thread, and share its commits."""
_LEASE: Final = re.compile(r"/v1/workers/[^/]+/lease")
_MOST_SHORT: Final = 256 * 1024
_CLOSE: Final = {"Connection": "close"}

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
_LOG: Final = logging.getLogger(__name__)


class TooLarge(Exception):
    """The request has more bytes than it may have."""


class HungUp(Exception):
    """The client has gone before its request was complete."""


class App:
    """An ASGI application on an embedded engine."""

    def __init__(self, embedded: Embedded, public_url: str) -> None:
        self._embedded = embedded
        self._public_url = public_url
        self._tokens = KnownTokens(embedded.engine.tokens, embedded.engine.clock)
        self._replies = Replies(embedded.writer)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="request")
        self._polls = LongPolls(partial(handle, embedded.engine))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _body(receive)
        except HungUp:
            return
        except TooLarge:
            response = _closing(413, "too_large", f"the request has more than {MOST_BODY} bytes")
        except TimeoutError:
            response = _closing(408, "timeout", f"the request did not arrive within {BODY_SECONDS:.0f} s")
        else:
            response = await self._answer_once_known(scope, body, receive)
        await send_response(send, response, scope["headers"])

    def end_waits(self) -> None:
        """Answer all leases that wait, because the server is to stop."""
        self._polls.end_all()

    def close(self) -> None:
        """Begin no request any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._polls.close()

    def _request(self, scope: Scope, body: bytes) -> Request:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        return Request(
            method=scope["method"],
            path=_raw_path(scope),
            query=dict(pairs),
            repeated_query=_repeated([name for name, _ in pairs]),
            headers=headers,
            body=body,
            principal=self._tokens.authenticate(headers.get("authorization")),
            public_url=self._public_url,
        )

    async def _answer_once_known(self, scope: Scope, body: bytes, receive: Receive) -> Response:
        """Answer a request. A caller whose token cannot be read just now may try again."""
        try:
            request = self._request(scope, body)
        except Unavailable as error:
            _LOG.exception("tokens_unreadable")
            return _unavailable(error)
        return await self._answer(request, receive)

    async def _answer(self, request: Request, receive: Receive) -> Response:
        engine = self._embedded.engine
        if request.method == "POST" and len(request.body) <= _MOST_SHORT and _SHORT.fullmatch(request.path):
            try:
                return await self._replies.of(lambda: handle(engine, request))
            except OnthedotError as error:
                return _unavailable(error)
        if _LEASE.fullmatch(request.path) and self._polls.has_room:
            return await self._polls.answer(request, receive)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, handle, engine, request)


def _unavailable(error: OnthedotError) -> Response:
    return response_to(error) or error_response(503, "unavailable", str(error))


def _raw_path(scope: Scope) -> str:
    """Return the path as it was sent: the route decodes the text of a user in it."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.partition(b"?")[0].decode("latin-1")


def _repeated(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of parameters that are given more than once."""
    if len(set(names)) == len(names):
        return ()
    return tuple(name for name, count in Counter(names).items() if count > 1)


def _closing(status: int, code: str, message: str) -> Response:
    """Return the answer to a request that was not read to its end. Nothing else can be read after it."""
    return replace(error_response(status, code, message), headers={"Content-Type": "application/json", **_CLOSE})


async def _body(receive: Receive) -> bytes:
    message = await _part(receive)
    content: bytes = message.get("body", b"")
    if not message.get("more_body") and len(content) <= MOST_BODY:
        return content
    chunks, size = [content], len(content)
    while message.get("more_body"):
        if size > MOST_BODY:
            raise TooLarge
        message = await _part(receive)
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
    if size > MOST_BODY:
        raise TooLarge
    return b"".join(chunks)


async def _part(receive: Receive) -> Mapping[str, Any]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise HungUp
    return message
