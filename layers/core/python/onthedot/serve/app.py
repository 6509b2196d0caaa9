"""The REST API behind an ASGI server: the same routes as on Lambda, with short writes gathered into shared commits."""

import asyncio
import contextlib
import gzip
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Final
from urllib.parse import parse_qsl

from onthedot.access.ports import Principal
from onthedot.access.token_store import TokenStore
from onthedot.access.tokens import authenticate
from onthedot.api.errors import error_response, response_to
from onthedot.api.http import Request, Response
from onthedot.api.router import handle
from onthedot.core.errors import OnthedotError, Unavailable
from onthedot.core.ports import Clock
from onthedot.core.stopping import Stop
from onthedot.serve.http_server import BODY_SECONDS
from onthedot.wiring.embedded import Embedded, GroupCommit

MOST_BODY: Final = 10 * 1024 * 1024
"""The most bytes of a request, as on API Gateway."""
THREADS: Final = 16
"""Requests that are not short writes, side by side."""
_SHORT: Final = re.compile(r"/v1/jobs|/v1/executions/[^/]+/(?:complete|heartbeat)")
"""The POSTs that write little and never wait. They run in the writer thread, and share its commits."""
MOST_SHORT: Final = 256 * 1024
"""A larger request would hold up the others of its commit."""
_LEASE: Final = re.compile(r"/v1/workers/[^/]+/lease")
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
    """An ASGI application on an embedded engine. Its short writes take a path of their own: `answer_short`."""

    def __init__(self, embedded: Embedded, public_url: str) -> None:
        self._embedded = embedded
        self._public_url = public_url
        self._tokens = KnownTokens(embedded.engine.tokens, embedded.engine.clock)
        self._replies = Replies(embedded.writer)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="request")
        self._polls = LongPolls(partial(handle, embedded.engine))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
        """Answer all waiting leases, because the server is about to stop."""
        self._polls.end_all()

    def close(self) -> None:
        """Start no further request."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._polls.close()

    def is_short(self, path: str, size: int) -> bool:
        """Return whether a POST to this path writes little and never waits, so that it can share a commit."""
        return size <= MOST_SHORT and _SHORT.fullmatch(path) is not None

    def answer_short(
        self, path: str, headers: Sequence[tuple[bytes, bytes]], body: bytes, answer: Callable[[Response], None]
    ) -> None:
        """Answer a short write once it is on disk."""
        engine = self._embedded.engine
        try:
            request = self._request("POST", path, b"", headers, body)
            self._replies.submit(lambda: handle(engine, request), lambda *ended: answer(_response_of(*ended)))
        except OnthedotError as error:
            answer(_unavailable(error))

    def _request(
        self, method: str, path: str, query: bytes, raw_headers: Iterable[tuple[bytes, bytes]], body: bytes
    ) -> Request:
        """Read the parts of a request. Raise Unavailable when the token cannot be read."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw_headers}
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True) if query else []
        return Request(
            method=method,
            path=path,
            query=dict(pairs),
            repeated_query=_repeated([name for name, _ in pairs]),
            headers=headers,
            body=body,
            principal=self._tokens.authenticate(headers.get("authorization")),
            public_url=self._public_url,
        )

    async def _answer_once_known(self, scope: Scope, body: bytes, receive: Receive) -> Response:
        """Answer 503 when the token cannot be read right now: the caller may try again."""
        try:
            request = self._request(scope["method"], _raw_path(scope), scope["query_string"], scope["headers"], body)
        except Unavailable as error:
            _LOG.exception("tokens_unreadable")
            return _unavailable(error)
        return await self._answer(request, receive)

    async def _answer(self, request: Request, receive: Receive) -> Response:
        engine = self._embedded.engine
        if request.method == "POST" and self.is_short(request.path, len(request.body)):
            answered: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
            self._replies.submit(
                lambda: handle(engine, request),
                lambda *ended: None if answered.done() else answered.set_result(_response_of(*ended)),
            )
            return await answered
        if _LEASE.fullmatch(request.path) and self._polls.has_room:
            return await self._polls.answer(request, receive)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, handle, engine, request)


def _response_of(response: Response | None, error: BaseException | None) -> Response:
    if response is not None:
        return response
    if isinstance(error, OnthedotError):
        return _unavailable(error)
    return error_response(500, "internal", "something failed on our side")


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


KNOWN_MS: Final = 5_000
MOST_KNOWN: Final = 1_000


class KnownTokens:
    """The callers by their `Authorization` header. A revoked token stops working within `KNOWN_MS`."""

    def __init__(self, tokens: TokenStore, clock: Clock) -> None:
        self._tokens = tokens
        self._clock = clock
        self._known: dict[str, tuple[int, Principal]] = {}

    def authenticate(self, authorization: str | None) -> Principal | None:
        """Return the caller that the header names, or None. Wrong tokens are not remembered. Raise Unavailable."""
        if authorization is None:
            return None
        now = self._clock.now()
        at, principal = self._known.get(authorization, (0, None))
        if principal is not None and 0 <= now - at < KNOWN_MS:
            return principal
        principal = authenticate(self._tokens, authorization)
        if principal is None:
            self._known.pop(authorization, None)
            return None
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[authorization] = (now, principal)
        return principal


class Replies:
    """Operations of the writer thread whose replies the event loop gets. All of one commit come in one call."""

    def __init__(self, writer: GroupCommit) -> None:
        self._writer: Final = writer
        self._ended: list[Callable[[], None]] = []

    def submit(self, do: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        """Call `done` in the thread of the event loop when the operation is on disk. Raise Unavailable."""
        loop = asyncio.get_running_loop()

        def ended(result: Any, error: BaseException | None) -> None:
            self._ended.append(partial(done, result, error))
            if len(self._ended) == 1:
                loop.call_soon_threadsafe(self._deliver)

        self._writer.submit(do, ended)

    def _deliver(self) -> None:
        ended, self._ended = self._ended, []
        for done in ended:
            done()


MOST_WAITING: Final = 256
"""How many leases may wait at once. Any more are answered at once, and their workers poll."""
_HUNG_UP: Final = "the caller has hung up"
_STOPPING: Final = "the server is stopping"


class LongPolls:
    """Leases of pull workers that wait for a run, each in its own thread until its worker hangs up.

    All methods except `close` belong to the thread of the event loop.
    """

    def __init__(self, handle: Callable[[Request], Response], most: int = MOST_WAITING) -> None:
        self._handle = handle
        self._most = most
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="lease")
        self._waiting: set[Stop] = set()
        self._is_stopping = False

    @property
    def has_room(self) -> bool:
        return not self._is_stopping and len(self._waiting) < self._most

    async def answer(self, request: Request, receive: Receive) -> Response:
        """Answer a lease, which may wait. A worker that hangs up gets no run."""
        gone = Stop()
        self._waiting.add(gone)
        watch = asyncio.ensure_future(_watch(receive, gone))
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, self._handle, replace(request, gone=gone))
        finally:
            watch.cancel()
            self._waiting.discard(gone)

    def end_all(self) -> None:
        """End all waits, and begin no more."""
        self._is_stopping = True
        for gone in list(self._waiting):
            gone.ask(_STOPPING)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


async def _watch(receive: Receive, gone: Stop) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.ask(_HUNG_UP)


LEAST_COMPRESSED: Final = 1024
"""Shorter texts are sent as they are, like on API Gateway."""
_KEPT: Final = 256
"""Compressed texts in memory: more than the console has files."""


async def send_response(send: Send, response: Response, asked: Iterable[tuple[bytes, bytes]]) -> None:
    """Send the response to a request with these headers. Files of the console are compressed once and cached."""
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
    """Only the few fixed texts: compressing any other answer costs more than sending it."""
    return response.headers.get("Vary") == "Accept-Encoding" and len(text) >= LEAST_COMPRESSED


def _takes_gzip(asked: Iterable[tuple[bytes, bytes]]) -> bool:
    accepted = b",".join(value for name, value in asked if name == b"accept-encoding").lower()
    choices = [[part.strip() for part in choice.split(b";")] for choice in accepted.split(b",")]
    return any(choice[0] in {b"gzip", b"*"} and b"q=0" not in choice[1:] for choice in choices)


@lru_cache(maxsize=_KEPT)
def _compressed(text: str) -> bytes:
    return gzip.compress(text.encode(), 9, mtime=0)
