"""The performer of Python targets: it runs each handler in a process that can be killed without harm to the worker."""

import threading
from collections.abc import Mapping
from typing import Any, Final, Self

from onthedot.domain.runs.progress import LatestProgress
from onthedot.domain.targets.types import PythonTarget
from onthedot.ports import Answer, Call, Performer
from onthedot.stopping import Stop
from onthedot.targets.answers import refused, stopped, timed_out
from onthedot.targets.countdown import Countdown, Stopped
from onthedot.targets.interruptible import interruptible
from onthedot.targets.processes.handler_calls import answer_of, message_for
from onthedot.targets.processes.python_process import AppBroken, HandlerProcess, ProcessDied

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
        """Run the handler within the call's time-out."""
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
            return Answer(ok=False, error=f"no process for it: {error.strerror}", error_class="not_started")

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
        raise AppBroken(f"{app} cannot be imported: it takes longer than {_IMPORT_MS} ms") from None
    finally:
        process.end()
