"""Execute the run of one delivered message: wait until it is due, start it, call its target, finish it.

All of this may happen twice. If the process dies in between, the run stays in its watch slot, and the message is
delivered again.
"""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import Final, Protocol

from onthedot.domain.errors import Unavailable, UnreadableRecord
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.progress import LatestProgress
from onthedot.domain.runs.records import Record
from onthedot.ports import Engine, Performer, Received, RunMessage
from onthedot.stopping import Stop
from onthedot.use_cases.attempts.call_target import perform
from onthedot.use_cases.attempts.finish_run import finish_run
from onthedot.use_cases.attempts.next_run import NextRun, send_later
from onthedot.use_cases.attempts.start_run import Done, Redeliver, Started, Verdict, start_run
from onthedot.use_cases.attempts.stop_reasons import answer_for_stopped

LONGEST_WAIT_MS: Final = 2_000
"""The longest time that the function waits for the run's fire time. A message that is earlier is delivered again
instead."""


class Leases(Protocol):
    """A lease keeper, as the executor uses it.

    It extends the lease of an attempt with its progress, and stops an attempt that must not go on.
    """

    def keeping(self, run: Record, stop: Stop, progress: LatestProgress) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class RunExecutor:
    """The parts with which a function executes runs."""

    engine: Engine
    performer: Performer
    leases: Leases
    worker_id: str
    chance: random.Random
    on_next: Callable[[RunMessage, Verdict], None] = lambda *_: None
    """Called for each run that was executed without a message."""


def execute_run(executor: RunExecutor, received: Received, ends_at: int | None = None) -> Verdict:
    """Execute the run that the message names, if it is still scheduled. A failure that may pass raises nothing.

    When the run has given its place at a gate to a waiting run of the same queue, execute that one as well, and so on.
    `ends_at` is the time at which this process ends. None: it does not end by itself.
    """
    engine = executor.engine
    following = NextRun(engine, received.message, engine.clock.now(), ends_at)
    verdict = _execute(executor, received.message, received.receive_count, following)
    if following.message is not None and isinstance(verdict, Done):
        with suppress(Unavailable):  # the message comes again and is dropped, because the attempt is over
            engine.queues.delete(received)
    while (message := following.pop()) is not None:
        _execute_next(executor, message, following)
    return verdict


def _execute_next(executor: RunExecutor, message: RunMessage, following: NextRun) -> None:
    """Execute a run that was taken over. If it is to be tried again, send the message that it does not have yet."""
    try:
        verdict = _execute(executor, message, 1, following)
    except Exception:
        send_later(executor.engine, message, lifecycle.LEASE_MS)
        raise
    executor.on_next(message, verdict)
    if isinstance(verdict, Redeliver):
        send_later(executor.engine, message, verdict.after_ms)


def _execute(executor: RunExecutor, message: RunMessage, receive_count: int, following: NextRun) -> Verdict:
    engine = executor.engine
    early = message.fire_at - engine.clock.now()
    if early > LONGEST_WAIT_MS:
        return Redeliver(early, "early")
    engine.clock.sleep_until(message.fire_at)
    try:
        started = start_run(engine, message, executor.worker_id)
        return _carry_out(executor, started, following) if isinstance(started, Started) else started
    except Unavailable as error:
        return Redeliver(min(1000 << receive_count, lifecycle.LEASE_MS), f"unavailable: {error}")
    except UnreadableRecord as error:
        return Redeliver(lifecycle.LEASE_MS, str(error))  # a worker of another version may be able to read it
    except Exception:
        following.send()
        raise


def _carry_out(executor: RunExecutor, started: Started, following: NextRun) -> Done:
    stop, progress = Stop(), LatestProgress()
    engine, run, definition = executor.engine, started.run, started.definition
    with executor.leases.keeping(run, stop, progress):
        answer = perform(engine, executor.performer, run, definition, stop, progress=progress)
        if stop.reason is not None:
            answer = answer_for_stopped(stop.reason, answer)
        what = finish_run(engine, run, definition, answer, chance=executor.chance, accept=following.accept)
        return Done(what, run)
