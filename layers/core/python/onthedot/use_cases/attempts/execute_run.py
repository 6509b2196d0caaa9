"""One delivered message: hold it to the millisecond, start, perform, finish. Everything here may happen twice.

Whatever dies in between leaves the run in its watch slot, and the message comes again.
"""

import random
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Record
from onthedot.ports import Engine, Performer, Received
from onthedot.stopping import Stop
from onthedot.use_cases.attempts.call_target import perform
from onthedot.use_cases.attempts.finish_run import finish_run
from onthedot.use_cases.attempts.start_run import Done, GiveBack, Started, Verdict, start_run
from onthedot.use_cases.attempts.stop_reasons import answer_for_stopped

HOLD_MS: Final = 2_000
"""A message that comes earlier than this before its time is given back instead of held."""


class Leases(Protocol):
    """A keeper of leases: it extends the lease of a running attempt, and stops the attempt when it must not go on."""

    def keeping(self, run: Record, stop: Stop) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class Worker:
    """Who executes, and with what."""

    engine: Engine
    target: Performer
    leases: Leases
    worker_id: str
    chance: random.Random


def execute_run(worker: Worker, received: Received) -> Verdict:
    """Run what the message names, if it is still meant to run. Never raises for a passing failure."""
    engine = worker.engine
    early = received.message.fire_at - engine.clock.now()
    if early > HOLD_MS:
        return GiveBack(early, "early")
    engine.clock.sleep_until(received.message.fire_at)
    try:
        begun = start_run(engine, received.message, worker.worker_id)
        return _carry_out(worker, begun) if isinstance(begun, Started) else begun
    except Unavailable as error:
        return GiveBack(min(1000 << received.receive_count, lifecycle.LEASE_MS), f"unavailable: {error}")


def _carry_out(worker: Worker, begun: Started) -> Done:
    stop = Stop()
    with worker.leases.keeping(begun.run, stop):
        answer = perform(worker.engine, worker.target, begun.run, begun.definition, stop)
        if stop.reason is not None:
            answer = answer_for_stopped(stop.reason, answer)
        return Done(finish_run(worker.engine, begun.run, begun.definition, answer, chance=worker.chance))
