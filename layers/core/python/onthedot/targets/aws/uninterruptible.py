"""Run a call that nothing can interrupt, and stop waiting for it when its time is over or it is asked to stop."""

import queue
import threading
from collections.abc import Callable

from onthedot.ports import Answer, Call
from onthedot.targets.answers import stopped, timed_out


def answer_in_time(call: Call, phase: str, work: Callable[[], Answer]) -> Answer:
    """Return the answer of `work`, which runs in a thread, or an answer that it timed out or was stopped.

    The thread runs on after that. `work` must end by its own time-outs, or the number of threads would grow. An
    exception that `work` raises is raised here.
    """
    outcome: queue.SimpleQueue[Answer | BaseException] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcome.put(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            outcome.put(error)

    if call.stop.reason is not None:
        return stopped(call)
    threading.Thread(target=run, name="uninterruptible", daemon=True).start()
    try:
        with call.stop.interrupting(lambda: outcome.put(stopped(call))):
            answer = outcome.get(timeout=max(0, call.timeout_ms / 1000))
    except queue.Empty:
        return timed_out(call, phase)
    if isinstance(answer, BaseException):
        raise answer
    return answer
