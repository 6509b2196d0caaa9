"""For calls that nothing can interrupt: they run on in a thread, while whoever waits stops waiting in time."""

import queue
import threading
from collections.abc import Callable

from onthedot.ports import Answer, Call
from onthedot.targets.answers import stopped, timed_out


def answer_in_time(call: Call, stage: str, work: Callable[[], Answer]) -> Answer:
    """What `work` answers, or that the call's time was over or it was asked to stop before it did.

    What is left to itself must end by its own time-outs, or threads would pile up. What `work` raises is raised.
    """
    outcome: queue.SimpleQueue[Answer | BaseException] = queue.SimpleQueue()

    def do() -> None:
        try:
            outcome.put(work())
        except BaseException as error:  # noqa: BLE001 (raised by whoever waits)
            outcome.put(error)

    if call.stop.reason is not None:
        return stopped(call)
    threading.Thread(target=do, name="detached", daemon=True).start()
    try:
        with call.stop.interrupting(lambda: outcome.put(stopped(call))):
            answer = outcome.get(timeout=max(0, call.timeout_ms / 1000))
    except queue.Empty:
        return timed_out(call, stage)
    if isinstance(answer, BaseException):
        raise answer
    return answer
