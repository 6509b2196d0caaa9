"""Execute the run of one delivered message: wait until it is due, start it, call its target, finish it.

All of this may happen twice. If the process dies in between, the run stays in its watch slot, and the message is
delivered again.
"""

import random
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from onthedot.domain.errors import Unavailable, UnreadableRecord
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Record
from onthedot.ports import Engine, Performer, Received
from onthedot.stopping import Stop
from onthedot.use_cases.attempts.call_target import perform
from onthedot.use_cases.attempts.finish_run import finish_run
from onthedot.use_cases.attempts.start_run import Done, Redeliver, Started, Verdict, start_run
from onthedot.use_cases.attempts.stop_reasons import answer_for_stopped

LONGEST_WAIT_MS: Final = 2_000
"""The longest time that the function waits for the run's fire time. A message that is earlier is delivered again
instead."""


class Leases(Protocol):
    """A lease keeper, as the executor uses it.

    It extends the lease of an attempt, and stops an attempt that must not go on.
    """

    def keeping(self, run: Record, stop: Stop) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class RunExecutor:
    """The parts with which a function executes runs."""

    engine: Engine
    performer: Performer
    leases: Leases
    worker_id: str
    chance: random.Random


def execute_run(executor: RunExecutor, received: Received) -> Verdict:
    """Execute the run that the message names, if it is still scheduled. A failure that may pass raises nothing."""
    engine = executor.engine
    early = received.message.fire_at - engine.clock.now()
    if early > LONGEST_WAIT_MS:
        return Redeliver(early, "early")
    engine.clock.sleep_until(received.message.fire_at)
    try:
        started = start_run(engine, received.message, executor.worker_id)
        return _carry_out(executor, started) if isinstance(started, Started) else started
    except Unavailable as error:
        return Redeliver(min(1000 << received.receive_count, lifecycle.LEASE_MS), f"unavailable: {error}")
    except UnreadableRecord as error:
        return Redeliver(lifecycle.LEASE_MS, str(error))  # a worker of another version may be able to read it


def _carry_out(executor: RunExecutor, started: Started) -> Done:
    stop = Stop()
    with executor.leases.keeping(started.run, stop):
        answer = perform(executor.engine, executor.performer, started.run, started.definition, stop)
        if stop.reason is not None:
            answer = answer_for_stopped(stop.reason, answer)
        return Done(finish_run(executor.engine, started.run, started.definition, answer, chance=executor.chance))
