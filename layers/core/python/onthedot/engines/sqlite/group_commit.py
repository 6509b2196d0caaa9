"""The writer thread of the embedded engine: operations that arrive while a commit is syncing share the next one."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from onthedot.core.errors import Unavailable
from onthedot.engines.sqlite.database import Database

_LOG: Final = logging.getLogger(__name__)
_LONGEST_SECONDS: Final = 0.02
"""A group is committed after this time, even if more operations wait: those before them wait for their answers."""
_GATHER_SECONDS: Final = 0.001
"""How long after a commit the next group gathers operations, if the last group had several: then more are coming."""
_STOPPED: Final = "the server is stopping"

Result = TypeVar("Result")
Done = Callable[[Any, BaseException | None], None]
"""Called with the result of an operation, or with its error, when the operation is on disk. It must not block."""


@dataclass(frozen=True, slots=True)
class _Operation:
    do: Callable[[], Any]
    done: Done


class GroupCommit:
    """A thread that does operations one after another and commits many of them at once.

    An operation may use all stores of the database. It must not wait for anything but the database. When the commit
    fails, all operations of the group fail with Unavailable, and none has happened.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._arrived = threading.Condition()
        self._waiting: deque[_Operation] = deque()
        self._closing = False
        self._gather_until = 0.0
        self.commits = 0
        """Number of groups so far."""
        self.operations = 0
        """Number of operations in them."""
        self.thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self.thread.start()

    def submit(self, do: Callable[[], Any], done: Done) -> None:
        """Do the operation soon, and call `done` in the writer thread when it is on disk. Raise Unavailable."""
        with self._arrived:
            if self._closing:
                raise Unavailable(_STOPPED)
            self._waiting.append(_Operation(do, done))
            if len(self._waiting) == 1:
                self._arrived.notify()

    def run(self, do: Callable[[], Result]) -> Result:
        if threading.current_thread() is self.thread:
            return do()
        ended = threading.Lock()
        ended.acquire()
        outcome: list[Any] = []

        def done(result: Any, error: BaseException | None) -> None:
            outcome.extend((result, error))
            ended.release()

        self.submit(do, done)
        ended.acquire()
        result, error = outcome
        if error is not None:
            raise error
        found: Result = result
        return found

    def close(self) -> None:
        """Commit the operations that wait, and end the thread. Later ones are refused."""
        with self._arrived:
            self._closing = True
            self._arrived.notify()
        self.thread.join()

    def _work(self) -> None:
        while True:
            with self._arrived:
                while not self._waiting and not self._closing:
                    self._arrived.wait()
                if not self._waiting:
                    return
            if (pause := self._gather_until - time.monotonic()) > 0:
                time.sleep(pause)
            self._commit_group()

    def _commit_group(self) -> None:
        """Do the operations that wait, commit them, and report each. An error of one operation is only its own."""
        group: list[_Operation] = []
        outcomes: list[tuple[Any, BaseException | None]] = []
        until = time.monotonic() + _LONGEST_SECONDS
        try:
            with self._database.transaction():
                while self._waiting and (not group or time.monotonic() < until):
                    operation = self._waiting.popleft()
                    group.append(operation)
                    outcomes.append(_outcome(operation))
        except BaseException as error:  # noqa: BLE001 (each operation gets the error)
            outcomes = [(None, error)] * len(group)
            if not group:
                self._fail_waiting(error)
        self.commits += 1
        self.operations += len(group)
        self._gather_until = time.monotonic() + _GATHER_SECONDS if len(group) > 1 else 0.0
        for operation, outcome in zip(group, outcomes, strict=True):
            _report(operation, *outcome)

    def _fail_waiting(self, error: BaseException) -> None:
        """Report the error to all operations that wait now: each attempt to begin may wait for seconds."""
        for _ in range(len(self._waiting)):
            _report(self._waiting.popleft(), None, error)


def _outcome(operation: _Operation) -> tuple[Any, BaseException | None]:
    try:
        return operation.do(), None
    except BaseException as error:  # noqa: BLE001 (the caller of the operation gets it)
        return None, error


def _report(operation: _Operation, result: Any, error: BaseException | None) -> None:
    try:
        operation.done(result, error)
    except Exception:  # noqa: BLE001 (the other operations of the group must be reported)
        _LOG.exception("report_failed")
