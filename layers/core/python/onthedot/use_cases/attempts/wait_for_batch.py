"""Wait for the runs of one batch of messages, so that a run that does not end costs the other messages nothing.

When a function dies, its queue delivers all messages of the batch again. So a batch that takes long does not leave the
deletion of its messages to the end, and it ends before the function is killed.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from typing import Final

from onthedot.ports import Clock, Received

SECONDS_TOGETHER: Final = 5.0
"""How long a batch may take before the messages of its finished runs are deleted one by one, which costs a call each.

Most batches end sooner, and their messages are deleted by one call.
"""
MARGIN_MS: Final = 10_000
"""The time before the end of the function at which a batch is given up."""

Execution = Future[Received | None]
"""The execution of a run. Its result is the message if that may be deleted, or None."""


def wait_for_batch(
    executions: Iterable[Execution],
    clock: Clock,
    ends_at: int,
    delete: Callable[[Received], None],
    seconds: float = SECONDS_TOGETHER,
) -> set[Execution]:
    """Wait until all runs are executed, and return the executions that did not end in time.

    `ends_at` is the time at which the function is killed.
    """
    running = set(executions)
    while running:
        left = (ends_at - MARGIN_MS - clock.now()) / 1000
        if left <= 0:
            break
        ended, running = wait(running, min(seconds, left))
        if running:
            for message in filter(None, map(deletable, ended)):
                delete(message)
    return running


def deletable(execution: Execution) -> Received | None:
    """Return the message of an execution that has ended, if it may be deleted. A failure of any kind keeps it."""
    return None if execution.exception() is not None else execution.result()
