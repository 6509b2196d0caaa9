"""The worker's side of a process that runs an app's handlers."""

import contextlib
import json
import socket
import sys
from collections.abc import Mapping
from typing import Any, Final

from onthedot.domain.errors import OnthedotError
from onthedot.ports import RESULT_BYTES
from onthedot.targets.answers import printable
from onthedot.targets.http.wire import Countdown
from onthedot.targets.processes.private_process import is_private
from onthedot.targets.processes.supervised import Supervised

_MODULE: Final = "onthedot.targets.processes.python_child"
_MAX_MESSAGE: Final = 3 * RESULT_BYTES
"""A result as JSON text, itself quoted in JSON, with room to spare."""

_MAX_ERROR: Final = 500
_STDERR: Final = 2


class AppBroken(OnthedotError):
    """The app cannot be imported; the message is the end of the traceback."""


class ProcessDied(Exception):
    """The process ended in the middle of a conversation."""


class HandlerProcess:
    """A child with the app imported. It ends with this process, or by `end`, with all that handlers started."""

    def __init__(self, app: str) -> None:
        """:raises OSError: there is no room for another process"""
        self._app = app
        self._handlers: list[str] | None = None
        self._received = b""
        self._line, theirs = socket.socketpair()
        privacy = "private" if is_private() else "open"
        command = [sys.executable, "-u", "-m", _MODULE, privacy, app]
        with theirs:
            try:
                self._program = Supervised(command, stdin=theirs.fileno(), stdout=_STDERR, stderr=_STDERR)
            except BaseException:
                self._line.close()
                raise

    def handlers(self, countdown: Countdown) -> list[str]:
        """What the app's handlers are called. It says so first of all: nothing can be asked of it before.

        :raises AppBroken: instead
        """
        if self._handlers is None:
            countdown.stage = f"importing {self._app}"
            greeting = self._greeting(countdown)
            if "broken" in greeting:
                raise AppBroken(f"{self._app} cannot be imported: {printable(str(greeting['broken']), _MAX_ERROR)}")
            self._handlers = [str(name) for name in greeting["handlers"]]
        return self._handlers

    def _greeting(self, countdown: Countdown) -> Mapping[str, Any]:
        try:
            return self.receive(countdown)
        except ProcessDied:
            countdown.go_on()
            raise AppBroken(f"{self._app} cannot be imported: its process died: {self.end()}") from None

    @property
    def dead(self) -> bool:
        """Whether it ended, or spoke, while nobody asked it anything: then it is of no use."""
        self._line.setblocking(False)
        try:
            self._line.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        return True

    def send(self, message: Mapping[str, Any], countdown: Countdown) -> None:
        """:raises ProcessDied: it has not received all of it, and has not begun"""
        self._line.settimeout(countdown.left())
        try:
            self._line.sendall(json.dumps(message).encode() + b"\n")
        except ConnectionError:
            raise ProcessDied from None

    def receive(self, countdown: Countdown) -> Mapping[str, Any]:
        """:raises ProcessDied: instead of an answer; also when it says what makes no sense"""
        while b"\n" not in self._received:
            self._line.settimeout(countdown.left())
            try:
                chunk = self._line.recv(1 << 16)
            except ConnectionError:
                chunk = b""
            if not chunk or len(self._received) > _MAX_MESSAGE:
                raise ProcessDied
            self._received += chunk
        message, _, self._received = self._received.partition(b"\n")
        with contextlib.suppress(ValueError):
            if isinstance(answer := json.loads(message), dict):
                return answer
        raise ProcessDied

    def kill(self) -> None:
        """It and what it started end now; whoever talks with it sees it die."""
        self._program.kill()

    def end(self) -> str:
        """When this returns all is over; it says how. Nobody may use it after that."""
        self._line.close()
        return self._program.end() or "nobody knows how"
