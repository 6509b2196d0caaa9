"""The performer of Python targets: each handler runs in a process (`python_child`) that a stop can kill."""

import contextlib
import json
import socket
import sys
import threading
from collections.abc import Mapping
from typing import Any, Final, Self

from onthedot.core.errors import OnthedotError
from onthedot.core.ports import RESULT_BYTES, Answer, Call, Performer
from onthedot.core.progress import LatestProgress, report_from
from onthedot.core.stopping import Stop
from onthedot.targets.answers import printable, refused, stopped, timed_out
from onthedot.targets.countdown import Countdown, Stopped, interruptible
from onthedot.targets.processes.handler_calls import answer_of, message_for
from onthedot.targets.processes.supervised import Supervised, is_private
from onthedot.targets.types import PythonTarget

_MODULE: Final = "onthedot.targets.processes.python_child"
_MAX_MESSAGE: Final = 3 * RESULT_BYTES
"""Room for a result: JSON text that is itself quoted in JSON."""

_MAX_ERROR: Final = 500
_STDERR: Final = 2


class AppBroken(OnthedotError):
    """The app cannot be imported. The message is the end of the traceback."""


class ProcessDied(Exception):
    """The process ended, or sent something unreadable, instead of a message."""


class HandlerProcess:
    """A child process with the app imported.

    It ends with this process, or by `end`. All processes that its handlers started end with it.
    """

    def __init__(self, app: str) -> None:
        """Start the process. Raise OSError when the system has no room for another one."""
        self._app = app
        self._handlers: list[str] | None = None
        self._received = b""
        self._socket, childs = socket.socketpair()
        privacy = "private" if is_private() else "open"
        command = [sys.executable, "-u", "-m", _MODULE, privacy, app]
        with childs:
            try:
                self._program = Supervised(command, stdin=childs.fileno(), stdout=_STDERR, stderr=_STDERR)
            except BaseException:
                self._socket.close()
                raise

    def handlers(self, countdown: Countdown) -> list[str]:
        """Return the names of the app's handlers, from the first message of the process.

        Call this before any other message is sent. Raise AppBroken when the app cannot be imported.
        """
        if self._handlers is None:
            countdown.phase = f"importing {self._app}"
            greeting = self._greeting(countdown)
            if "broken" in greeting:
                raise AppBroken(f"{self._app} cannot be imported: {printable(str(greeting['broken']), _MAX_ERROR)}")
            self._handlers = [str(name) for name in greeting["handlers"]]
        return self._handlers

    def _greeting(self, countdown: Countdown) -> Mapping[str, Any]:
        try:
            return self.receive(countdown)
        except ProcessDied:
            countdown.raise_if_stopped()
            raise AppBroken(f"{self._app} cannot be imported: its process died: {self.end()}") from None

    @property
    def dead(self) -> bool:
        """Whether the process ended, or sent a message without a request. It cannot be used after that."""
        self._socket.setblocking(False)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        return True

    def send(self, message: Mapping[str, Any], countdown: Countdown) -> None:
        """Send a message. Raise ProcessDied when the process did not receive all of it, and so did not begin."""
        self._socket.settimeout(countdown.left())
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except ConnectionError:
            raise ProcessDied from None

    def receive_reply(self, countdown: Countdown, progress: LatestProgress) -> Mapping[str, Any]:
        """Receive the reply of a handler, and its reports before that. Raise ProcessDied as `receive` does."""
        while "progress" in (message := self.receive(countdown)):
            if (report := report_from(message["progress"])) is not None:
                progress.report(report)
        return message

    def receive(self, countdown: Countdown) -> Mapping[str, Any]:
        """Receive a message. Raise ProcessDied when the process ended, or sent something unreadable.

        A process that was asked to end may still send one.
        """
        while b"\n" not in self._received:
            self._socket.settimeout(countdown.left_after_stop())
            try:
                chunk = self._socket.recv(1 << 16)
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

    def ask_to_end(self) -> None:
        """Let the handler know that it is to stop. Two seconds later its process and all that it started are killed.

        A thread that talks with the process gets the handler's reply, or ProcessDied.
        """
        self._program.ask_to_end()

    def end(self) -> str:
        """End the process, wait for its end, and return how it ended. Do not use the object after that."""
        self._socket.close()
        return self._program.end() or "for an unknown reason"


_IMPORT_MS: Final = 60_000


class PythonRunner(Performer):
    """A performer of Python targets. It is safe to use from several threads. Close it when done.

    There are as many processes as calls at the same time. Each imports the app once. At most `warm` of them are kept
    while idle. A process that was killed, by its own handler or by a stop, is not used again.
    """

    def __init__(self, app: str, *, warm: int = 16) -> None:
        self._app, self._warm = app, warm
        self._lock = threading.Lock()
        self._idle: list[HandlerProcess] = []

    def perform(self, call: Call) -> Answer:
        assert isinstance(call.definition.target, PythonTarget)
        try:
            message = message_for(call, call.definition.target.handler)
        except UnicodeDecodeError:
            return refused("the payload is not UTF-8", "bad_payload")
        countdown = Countdown(call.timeout_ms, call.stop)
        try:
            return self._run(message, countdown, call.progress)
        except Stopped:
            return stopped(call)
        except TimeoutError:
            return timed_out(call, countdown.phase)
        except AppBroken as error:
            return Answer(ok=False, error=str(error), error_class="broken_app")
        except OSError as error:
            return Answer(
                ok=False, error=f"the handler's process cannot be started: {error.strerror}", error_class="not_started"
            )

    def close(self) -> None:
        """End the idle processes now, and the other ones when their calls end."""
        with self._lock:
            self._warm, idle, self._idle = 0, self._idle, []
        for process in idle:
            process.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, message: Mapping[str, Any], countdown: Countdown, progress: LatestProgress) -> Answer:
        while True:
            countdown.raise_if_stopped()
            process = self._take_idle() or HandlerProcess(self._app)
            begun = False
            try:
                with interruptible(countdown.stop, process.ask_to_end):
                    process.handlers(countdown)
                    countdown.phase = "running the handler"
                    process.send(message, countdown)
                    begun = True
                    reply = process.receive_reply(countdown, progress)
            except ProcessDied:
                how = process.end()
                countdown.raise_if_stopped()
                if begun:
                    return Answer(ok=False, error=f"the handler's process died: {how}", error_class="lost", lost=True)
            except BaseException:
                process.end()
                raise
            else:
                self._give_back(process, usable=countdown.stop.reason is None)
                return answer_of(reply)

    def _take_idle(self) -> HandlerProcess | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                process = self._idle.pop()
            if not process.dead:
                return process
            process.end()

    def _give_back(self, process: HandlerProcess, *, usable: bool) -> None:
        with self._lock:
            if usable and len(self._idle) < self._warm:
                self._idle.append(process)
                return
        process.end()


def handlers_of(app: str) -> list[str]:
    """Return the names of an app's handlers. Another process imports the app, so that this one stays free of its code.

    Raise AppBroken, with the last line of the traceback, when the app cannot be imported.
    """
    process = HandlerProcess(app)
    try:
        return process.handlers(Countdown(_IMPORT_MS, Stop()))
    except TimeoutError:
        raise AppBroken(
            f"{app} cannot be imported: the import takes longer than {_IMPORT_MS // 1000} seconds"
        ) from None
    finally:
        process.end()
