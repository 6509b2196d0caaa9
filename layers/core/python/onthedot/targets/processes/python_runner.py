"""The performer of Python targets: each handler runs in a process (`python_child`) that a stop can kill.

One thread does all calls and never blocks, so that a call costs two system calls and no switch of threads: the thread
of `PythonRunner`, or in `onthedot serve` the one that also stores their starts and ends.
"""

import json
import logging
import math
import os
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from selectors import EVENT_READ, BaseSelector, DefaultSelector
from typing import Any, Final, Self

from onthedot.core.errors import OnthedotError
from onthedot.core.ports import RESULT_BYTES, Answer, Call, Performer
from onthedot.core.progress import ProgressReport, report_of
from onthedot.core.waker import Waker, seconds_until
from onthedot.targets.answers import printable, refused, stopped, timed_out
from onthedot.targets.countdown import Countdown
from onthedot.targets.processes.handler_calls import answer_of, message_for
from onthedot.targets.processes.supervised import Supervised, is_private
from onthedot.targets.types import PythonTarget

_MODULE: Final = "onthedot.targets.processes.python_child"
_MAX_MESSAGE: Final = 3 * RESULT_BYTES
"""Room for a result: JSON text that is itself quoted in JSON."""
_AT_ONCE: Final = 64 * 1024
"""The buffer of an idle process's socket takes a message of this size whole."""
_MAX_ERROR: Final = 500
_STDERR: Final = 2
_IMPORT_MS: Final = 60_000
FEW: Final = 12
"""Quick handlers share this many processes at most: as many calls share the commit of their ends."""
STARTING: Final = 2 * (os.cpu_count() or 1)
"""The most processes that start side by side."""
PATIENCE_SECONDS: Final = 0.002
"""When calls wait and none has ended for this long, the handlers are not quick, and more processes get work."""

_LOG: Final = logging.getLogger(__name__)
OnAnswer = Callable[[Answer], None]


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
        self._received = b""
        self.socket, childs = socket.socketpair()
        privacy = "private" if is_private() else "open"
        command = [sys.executable, "-u", "-m", _MODULE, privacy, app]
        with childs:
            try:
                self._program = Supervised(command, stdin=childs.fileno(), stdout=_STDERR, stderr=_STDERR)
            except BaseException:
                self.socket.close()
                raise

    def handlers(self) -> list[str]:
        """Wait for the first message of the process, and return the names of the app's handlers.

        Raise AppBroken when the app cannot be imported.
        """
        countdown = Countdown(_IMPORT_MS)
        try:
            while not (messages := self._messages()):
                self.socket.settimeout(countdown.left())
                self._receive()
        except ProcessDied:
            raise AppBroken(f"{self._app} cannot be imported: its process died: {self.end()}") from None
        except TimeoutError:
            long = f"the import takes longer than {_IMPORT_MS // 1000} seconds"
            raise AppBroken(f"{self._app} cannot be imported: {long}") from None
        if "broken" in messages[0]:
            raise AppBroken(f"{self._app} cannot be imported: {printable(str(messages[0]['broken']), _MAX_ERROR)}")
        self.socket.setblocking(False)
        return [str(name) for name in messages[0]["handlers"]]

    def send(self, message: bytes) -> None:
        """Send a message that its buffer takes whole. Raise ProcessDied when the process is gone."""
        try:
            sent = self.socket.send(message)
        except OSError:
            raise ProcessDied from None
        if sent < len(message):
            raise ProcessDied

    def send_slowly(self, message: bytes, seconds: float) -> None:
        """Send a message of any size. Raise ProcessDied when the process is gone, or does not read it in time."""
        try:
            self.socket.settimeout(seconds)
            self.socket.sendall(message)
            self.socket.setblocking(False)
        except OSError:
            raise ProcessDied from None

    def receive(self) -> list[Mapping[str, Any]]:
        """Return the messages that have arrived. Raise ProcessDied when the process ended or sent something else."""
        with suppress(BlockingIOError):
            self._receive()
        return self._messages()

    def _receive(self) -> None:
        try:
            chunk = self.socket.recv(1 << 16)
        except ConnectionError:
            chunk = b""
        if not chunk or len(self._received) > _MAX_MESSAGE:
            raise ProcessDied
        self._received += chunk

    def _messages(self) -> list[Mapping[str, Any]]:
        *lines, self._received = self._received.split(b"\n")
        try:
            messages = [json.loads(line) for line in lines]
        except ValueError:
            raise ProcessDied from None
        if not all(isinstance(message, dict) for message in messages):
            raise ProcessDied
        return messages

    def kill(self) -> None:
        """Kill it now. Call `end` afterwards."""
        self._program.kill()

    def ask_to_end(self) -> None:
        """Let the handler know that it is to stop. Two seconds later its process and all that it started are killed."""
        self._program.ask_to_end()

    def end(self) -> str:
        """End the process, wait for its end, and return how it ended. Do not use the object after that."""
        self.socket.close()
        return self._program.end() or "for an unknown reason"


@dataclass(slots=True, eq=False)
class _Calling:
    """A call that waits for a process, or runs in one."""

    call: Call
    message: bytes
    answer: OnAnswer
    deadline: float
    """Of the monotonic clock: sockets wait in real time, and the wall clock may jump."""
    process: HandlerProcess | None = None


class HandlerCalls:
    """Calls of the handlers of one app. One thread, that of the selector, calls all methods except `soon`.

    A call gets an idle process. Quick handlers share a few processes. When calls wait and none ends, more processes
    get work, and more are started, up to as many as there are calls. At most `warm` are kept while idle. A process that
    was killed, by its own handler or by a stop, is not used again. What blocks is done by other threads: the start of a
    process, its end, and sending a large message.
    """

    def __init__(self, app: str, selector: BaseSelector, *, warm: int = 16) -> None:
        self._app, self._selector, self._warm = app, selector, warm
        self._waker = Waker(selector)
        self._threads = ThreadPoolExecutor(2 * STARTING, thread_name_prefix="handler-process")
        self._asked: deque[Callable[[], None]] = deque()
        """What other threads ask of this one."""
        self._waiting: deque[_Calling] = deque()
        self._busy: dict[HandlerProcess, _Calling] = {}
        self._idle: list[HandlerProcess] = []
        self._starting = 0
        self._importing: set[HandlerProcess] = set()
        self._width = FEW
        """How many processes may be busy."""
        self._moved_at = 0.0
        """When a call began or ended last."""
        self._stuck_since = -1.0
        self._look_at = math.inf
        """No call is late before this time."""
        self._closed = False

    def soon(self, do: Callable[[], None]) -> None:
        """Let the thread of the selector do this. Safe to use from any thread."""
        self._asked.append(do)
        self._waker.wake()

    def begin(self, call: Call, answer: OnAnswer) -> None:
        """Call the handler within the call's timeout. The answer may come in any thread."""
        assert isinstance(call.definition.target, PythonTarget)
        try:
            message = json.dumps(message_for(call, call.definition.target.handler)).encode() + b"\n"
        except UnicodeDecodeError:
            answer(refused("the payload is not UTF-8", "bad_payload"))
            return
        now = time.monotonic()
        calling = _Calling(call, message, answer, now + call.timeout_ms / 1000)
        if not self._waiting:
            self._moved_at = now
        self._waiting.append(calling)
        self._look_at = min(self._look_at, calling.deadline)
        call.stop.on_ask(lambda: self.soon(partial(self._stop, calling)))

    def turn(self) -> float:
        """Do what is due now. Return the time of the monotonic clock at which there is more to do."""
        while self._asked:
            self._asked.popleft()()
        now = time.monotonic()
        if now >= self._look_at:
            self._end_late(now)
        if not self._waiting:
            self._width = max(FEW, len(self._busy))
            return self._look_at
        self._hand_out(now)
        return min(self._look_at, self._moved_at + PATIENCE_SECONDS) if self._is_narrow else self._look_at

    @property
    def is_over(self) -> bool:
        """Whether it is closed, no call is under way, and no process starts."""
        return self._closed and not (self._busy or self._waiting or self._starting)

    def close(self) -> bool:
        """End the idle processes now, and the others when their calls end. Return whether there are none."""
        self._closed, self._warm = True, 0
        for process in self._idle:
            self._forget(process)
            process.end()
        self._idle.clear()
        for process in list(self._importing):
            process.kill()
        return self.is_over

    def join(self) -> None:
        """Wait for the ends of all processes. Call it when it is over."""
        self._threads.shutdown()
        self._waker.close()

    @property
    def _is_narrow(self) -> bool:
        """Whether calls wait only because few processes may be busy."""
        return bool(self._waiting) and len(self._busy) >= self._width

    def _hand_out(self, now: float) -> None:
        """Give waiting calls to idle processes, and start more when those that there are do not keep up."""
        if self._is_narrow and now - self._moved_at >= PATIENCE_SECONDS:
            if self._stuck_since == self._moved_at:
                self._width = len(self._busy) + FEW
            # Before that the sockets are read once more: this thread may have been busy with something else.
            self._stuck_since = self._moved_at
        while self._waiting and self._idle and len(self._busy) < self._width:
            self._send(self._waiting.popleft(), self._idle.pop(), now)
        for _ in range(min(len(self._waiting), self._width - len(self._busy), STARTING) - self._starting):
            self._starting += 1
            self._threads.submit(self._start)

    def _send(self, calling: _Calling, process: HandlerProcess, now: float) -> None:
        self._moved_at = now
        calling.process = process
        self._busy[process] = calling
        if len(calling.message) > _AT_ONCE:
            self._forget(process)
            self._threads.submit(self._send_slowly, calling, process)
            return
        try:
            process.send(calling.message)
        except ProcessDied:
            self._not_begun(process)

    def _send_slowly(self, calling: _Calling, process: HandlerProcess) -> None:
        try:
            process.send_slowly(calling.message, max(calling.deadline - time.monotonic(), 0.001))
        except ProcessDied:
            self.soon(partial(self._not_begun, process))
        else:
            self.soon(lambda: self._watch(process) if process in self._busy else None)

    def _not_begun(self, process: HandlerProcess) -> None:
        """Call the handler in another process: this one is gone, and has not received the whole message."""
        calling = self._busy.pop(process, None)
        if calling is not None:
            calling.process = None
            self._waiting.appendleft(calling)
            self._discard(process)

    def _start(self) -> None:
        """Start a process. If that fails, the call that waits longest gets the reason."""
        error = ("", "")
        try:
            process = HandlerProcess(self._app)
            self._importing.add(process)
            try:
                process.handlers()
            except BaseException:
                process.end()
                raise
            finally:
                self._importing.discard(process)
        except AppBroken as broken:
            error = (str(broken), "broken_app")
        except OSError as failed:
            error = (f"the handler's process cannot be started: {failed.strerror}", "not_started")
        except Exception as failed:  # noqa: BLE001 - a start that is never over would keep all calls waiting
            error = (f"the handler's process cannot be started: {failed!r}", "not_started")
        self.soon(partial(self._not_started, *error) if any(error) else partial(self._started, process))

    def _started(self, process: HandlerProcess) -> None:
        self._starting -= 1
        self._watch(process)
        self._give_back(process)

    def _not_started(self, error: str, error_class: str) -> None:
        self._starting -= 1
        if self._waiting:
            self._waiting.popleft().answer(Answer(ok=False, error=error, error_class=error_class))

    def _watch(self, process: HandlerProcess) -> None:
        self._selector.register(process.socket, EVENT_READ, partial(self._read, process))

    def _forget(self, process: HandlerProcess) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(process.socket)

    def _read(self, process: HandlerProcess) -> None:
        """Take what a process sends: reports and the answer of its call, or its end."""
        try:
            for message in process.receive():
                if process not in self._busy:
                    raise ProcessDied  # noqa: TRY301 - nothing was asked of it
                if "progress" not in message:
                    self._end_call(process, message)
                elif (report := report_from(message["progress"])) is not None:
                    self._busy[process].call.progress.report(report)
        except ProcessDied:
            self._died(process)

    def _end_call(self, process: HandlerProcess, message: Mapping[str, Any]) -> None:
        calling = self._busy.pop(process)
        self._moved_at = time.monotonic()
        if calling.call.stop.reason is None:
            self._give_back(process)
            self._hand_out(self._moved_at)
            calling.answer(answer_of(message))
        else:
            self._end_process(process, calling, lambda _: answer_of(message))

    def _died(self, process: HandlerProcess) -> None:
        calling = self._busy.pop(process, None)
        if calling is None:
            if process in self._idle:
                self._idle.remove(process)
            self._discard(process)
        else:
            self._end_process(process, calling, partial(_lost, calling.call))

    def _end_late(self, now: float) -> None:
        """Answer the calls whose time is up."""
        phase = "waiting for a process" if self._busy else f"importing {self._app}"
        for calling in [calling for calling in self._waiting if calling.deadline <= now]:
            self._waiting.remove(calling)
            calling.answer(timed_out(calling.call, phase))
        for process, calling in [busy for busy in self._busy.items() if busy[1].deadline <= now]:
            del self._busy[process]
            self._end_process(process, calling, partial(_late, calling.call))
        self._look_at = min((one.deadline for one in (*self._waiting, *self._busy.values())), default=math.inf)

    def _stop(self, calling: _Calling) -> None:
        if calling in self._waiting:
            self._waiting.remove(calling)
            calling.answer(stopped(calling.call))
        elif calling.process is not None and self._busy.get(calling.process) is calling:
            calling.process.ask_to_end()

    def _end_process(self, process: HandlerProcess, calling: _Calling, answer: Callable[[str], Answer]) -> None:
        """Answer the call when its process has ended: the next attempt must not run alongside this one."""
        self._forget(process)
        self._threads.submit(lambda: calling.answer(answer(process.end())))

    def _give_back(self, process: HandlerProcess) -> None:
        if self._waiting or len(self._idle) < self._warm:
            self._idle.append(process)
        else:
            self._discard(process)

    def _discard(self, process: HandlerProcess) -> None:
        self._forget(process)
        self._threads.submit(process.end)


def _late(call: Call, _how: str) -> Answer:
    return timed_out(call, "running the handler")


def _lost(call: Call, how: str) -> Answer:
    if call.stop.reason is not None:
        return stopped(call)
    return Answer(ok=False, error=f"the handler's process died: {how}", error_class="lost", lost=True)


class PythonRunner(Performer):
    """A performer of Python targets, with a thread of its own. It is safe to use from several threads.

    Close it when done.
    """

    def __init__(self, app: str, *, warm: int = 16) -> None:
        self._selector = DefaultSelector()
        self._calls = HandlerCalls(app, self._selector, warm=warm)
        self._thread = threading.Thread(target=self._work, name="handlers", daemon=True)
        self._thread.start()

    def perform(self, call: Call) -> Answer:
        """Run the handler within the call's timeout."""
        if call.stop.reason is not None:
            return stopped(call)
        answers: SimpleQueue[Answer] = SimpleQueue()
        self._calls.soon(partial(self._calls.begin, call, answers.put))
        return answers.get()

    def close(self) -> None:
        """End the idle processes now, and the others when their calls end."""
        if self._thread.is_alive():
            closed: SimpleQueue[bool] = SimpleQueue()
            self._calls.soon(lambda: closed.put(self._calls.close()))
            if closed.get():
                self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _work(self) -> None:
        while True:
            try:
                until = self._calls.turn()
                if self._calls.is_over:
                    break
                for key, _ in self._selector.select(seconds_until(until)):
                    key.data()
            except Exception:  # noqa: BLE001 - whatever is wrong with one call, the others need this thread
                _LOG.exception("turn_failed")
        self._calls.join()
        self._selector.close()


def handlers_of(app: str) -> list[str]:
    """Return the names of an app's handlers. Another process imports the app, so that this one stays free of its code.

    Raise AppBroken, with the last line of the traceback, when the app cannot be imported.
    """
    process = HandlerProcess(app)
    try:
        return process.handlers()
    finally:
        process.end()


def report_from(values: Any) -> ProgressReport | None:
    """Return the report that the process of a handler sent as a list of fraction and text. None: it is not a report."""
    try:
        fraction, text = values
        return report_of(fraction, text)
    except (TypeError, ValueError):
        return None
