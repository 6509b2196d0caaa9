"""The way from the writer thread back to the event loop: the replies of a commit come in one call."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

from onthedot.wiring.embedded import GroupCommit

Result = TypeVar("Result")
_Reply = tuple["asyncio.Future[Any]", Any, BaseException | None]


class Replies:
    """Operations of the writer thread that an event loop waits for."""

    def __init__(self, writer: GroupCommit) -> None:
        self._writer: Final = writer
        self._ended: list[_Reply] = []

    async def of(self, do: Callable[[], Result]) -> Result:
        """Return the result of the operation when it is on disk. Raise its error, or Unavailable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def done(result: Any, error: BaseException | None) -> None:
            self._ended.append((future, result, error))
            if len(self._ended) == 1:
                loop.call_soon_threadsafe(self._deliver)

        self._writer.submit(do, done)
        return await future

    def _deliver(self) -> None:
        ended, self._ended = self._ended, []
        for future, result, error in ended:
            if future.done():  # the client has gone
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
