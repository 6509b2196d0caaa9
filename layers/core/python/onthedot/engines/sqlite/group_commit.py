"""The writer thread of the embedded engine: operations that arrive while a commit is syncing share the next one."""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from selectors import DefaultSelector
from typing import Any, Final, Protocol, TypeVar

from onthedot.core.errors import Unavailable
from onthedot.core.waker import Waker, seconds_until
from onthedot.engines.sqlite.database import Database

_LOG: Final = logging.getLogger(__name__)
_LONGEST_SECONDS: Final = 0.02
"""A group is committed after this time, even if more operations wait: those before them wait for their answers."""
_GATHER_SECONDS: Final = 0.001
"""How long after a commit the next group gathers operations, if the last group had several: then more are coming."""
_FAILED_SECONDS: Final = 1.0
"""When a guest has another turn after one that failed."""
_STOPPED: Final = "the server is stopping"

Result = TypeVar("Result")
Done = Callable[[Any, BaseException | None], None]
"""Called with the result of an operation, or with its error, when the operation is on disk. It must not block."""


_Operation = tuple[Callable[[], Any], Done]


class Guest(Protocol):
    """Work that the writer thread does between two commits. Nothing in it may block."""

    def turn(self) -> float:
        """Do what is due, mostly by submitting operations. Return the instant at which there is more to do."""
        ...


class GroupCommit:
    """A thread that does operations one after another and commits many of them at once.

    An operation may use all stores of the database. It must not wait for anything but the database. When the commit
    fails, all operations of the group fail with Unavailable, and none has happened.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.selector = DefaultSelector()
        """The sockets of guests, each with a callback as its data."""
        self._waker = Waker(self.selector)
        self._lock = threading.Lock()
        self._waiting: deque[_Operation] = deque()
        self._guests: list[Guest] = []
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
        with self._lock:
            if self._closing:
                raise Unavailable(_STOPPED)
            self._waiting.append((do, done))
            is_first = len(self._waiting) == 1
        if is_first:
            self.wake()

    def join(self, guest: Guest) -> None:
        """Let the writer thread do this guest's work from now on."""
        self._guests.append(guest)
        self.wake()

    def wake(self) -> None:
        """Let the guests look again. A thread that gives them work calls this."""
        if threading.current_thread() is not self.thread:
            self._waker.wake()

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
        with self._lock:
            self._closing = True
        self.wake()
        self.thread.join()

    def _work(self) -> None:
        while True:
            closing = self._closing  # once it is, no operation is added to those that wait
            until = min(map(_turn, self._guests), default=math.inf)
            if self._waiting:
                until = 0.0
                if (pause := self._gather_until - time.monotonic()) > 0:
                    time.sleep(pause)
            elif closing:
                self._waker.close()
                self.selector.close()
                return
            for key, _ in self.selector.select(seconds_until(until)):
                _called(key.data)
            if self._waiting:
                self._commit_group()

    def _commit_group(self) -> None:
        """Do the operations that wait, commit them, and report each. An error of one operation is only its own."""
        group: list[_Operation] = []
        outcomes: list[tuple[Any, BaseException | None]] = []
        try:
            with self._database.transaction():
                until = time.monotonic() + _LONGEST_SECONDS
                while self._waiting and (not group or time.monotonic() < until):
                    do, done = self._waiting.popleft()
                    group.append((do, done))
                    outcomes.append(_outcome(do))
        except BaseException as error:  # noqa: BLE001 (each operation gets the error)
            outcomes = [(None, error)] * len(group)
            if not group:
                self._fail_waiting(error)
        self.commits += 1
        self.operations += len(group)
        self._gather_until = time.monotonic() + _GATHER_SECONDS if len(group) > 1 else 0.0
        for (_, done), outcome in zip(group, outcomes, strict=True):
            _report(done, *outcome)

    def _fail_waiting(self, error: BaseException) -> None:
        """Report the error to all operations that wait now: each attempt to begin may wait for seconds."""
        for _ in range(len(self._waiting)):
            _report(self._waiting.popleft()[1], None, error)


def _turn(guest: Guest) -> float:
    until = _called(guest.turn)
    return time.monotonic() + _FAILED_SECONDS if until is None else until


def _called(callback: Callable[[], Result]) -> Result | None:
    """Call it. Whatever is wrong with one guest, the operations of all others must go on."""
    try:
        return callback()
    except Exception:  # noqa: BLE001 (see above)
        _LOG.exception("turn_failed")
        return None


def _outcome(do: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return do(), None
    except BaseException as error:  # noqa: BLE001 (the caller of the operation gets it)
        return None, error


def _report(done: Done, result: Any, error: BaseException | None) -> None:
    try:
        done(result, error)
    except Exception:  # noqa: BLE001 (the other operations of the group must be reported)
        _LOG.exception("report_failed")
