"""Leases of pull workers that wait for a run, each in a thread of its own until its worker hangs up."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

from onthedot.api.core.http import Request, Response
from onthedot.stopping import Stop

MOST: Final = 256
"""Most leases that wait at the same time. Others are answered at once, and their workers ask at intervals."""
_HUNG_UP: Final = "the caller has hung up"
_STOPPING: Final = "the server is stopping"

Receive = Callable[[], Awaitable[Mapping[str, Any]]]


class LongPolls:
    """The leases that wait. All methods but `close` are for the thread of the event loop."""

    def __init__(self, handle: Callable[[Request], Response], most: int = MOST) -> None:
        self._handle = handle
        self._most = most
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="lease")
        self._waiting: set[Stop] = set()
        self._is_stopping = False

    @property
    def has_room(self) -> bool:
        """Return whether one more lease may wait."""
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
        """Begin no call any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)


async def _watch(receive: Receive, gone: Stop) -> None:
    """Ask the lease to end when its caller hangs up."""
    with contextlib.suppress(asyncio.CancelledError):
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.ask(_HUNG_UP)
