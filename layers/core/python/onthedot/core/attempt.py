"""One attempt of a run: call its target, finish it, and take over the run that it has woken at a gate."""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol

from onthedot.core import lifecycle, patience
from onthedot.core.engine import Core
from onthedot.core.errors import PayloadGone, Unavailable, UnreadableRecord
from onthedot.core.finish import answer_for_stopped, finish_run
from onthedot.core.payloads import load_payload
from onthedot.core.ports import Answer, Call, Deadline, Performer, Received, RunMessage
from onthedot.core.progress import LatestProgress
from onthedot.core.records import Definition, Record
from onthedot.core.start import Done, Redeliver, Started, Verdict, start_run
from onthedot.core.stopping import Stop
from onthedot.core.traces import traceparent
from onthedot.targets.rules import body_of
from onthedot.targets.types import HttpTarget
from onthedot.targets.webhooks import signature_headers

_FIRST_PAUSE_MS: Final = 2_000
_LONGEST_PAUSE_MS: Final = 30_000
"""The longest wait before the next attempt when a call could not be made. The wait doubles with each attempt."""


def call_for(
    engine: Core, run: Record, definition: Definition, stop: Stop, progress: LatestProgress | None = None
) -> Call:
    """Return the call of an attempt. Raise Unavailable when a part of it cannot be read now."""
    payload = load_payload(engine.blobs, definition)
    if run.parents:
        payload = engine.points.parents_results(engine, run, payload)
    signature = {}
    if isinstance(definition.target, HttpTarget):
        body = body_of(definition.target.method, payload) or b""
        keys = engine.points.signing_keys(engine, run.tenant)
        signature = signature_headers(keys, run.run_id, engine.clock.now(), body)
    return Call(
        run_id=run.run_id,
        job_id=run.job_id,
        attempt=run.attempt,
        fire_time=run.fire_time,
        definition=definition,
        payload=payload,
        timeout_ms=definition.timeout_seconds * 1000,
        signature=signature,
        stop=stop,
        progress=progress or LatestProgress(),
        started_at=run.started_at or engine.clock.now(),
        traceparent=traceparent(run.run_id, run.trace, run.attempt),
    )


def prepare(
    engine: Core, run: Record, definition: Definition | None, stop: Stop, progress: LatestProgress | None = None
) -> Call | Answer:
    """Return the call of an attempt, or the answer when none can be made now."""
    if definition is None:
        return Answer(
            ok=False, error="nothing says what this run should do", error_class="no_definition", retryable=False
        )
    try:
        return call_for(engine, run, definition, stop, progress)
    except Unavailable as error:
        return not_made(error, run.attempt)


def perform(
    engine: Core,
    performer: Performer,
    run: Record,
    definition: Definition | None,
    stop: Stop,
    *,
    progress: LatestProgress | None = None,
) -> Answer:
    """Perform the attempt and return its answer. A failure that may pass is an answer too, and raises nothing."""
    call = prepare(engine, run, definition, stop, progress)
    return call if isinstance(call, Answer) else performer.perform(call)


def not_made(error: Unavailable, attempt: int) -> Answer:
    """Return the answer for a call that could not be made, because a service of onthedot itself fails.

    The run is handed back and tried again later, for as long as the service fails: no outage may end a run. A payload
    that is gone stays gone, so that is a failure of the run.
    """
    if isinstance(error, PayloadGone):
        return Answer(ok=False, error=str(error), error_class="unavailable")
    wait = min(_FIRST_PAUSE_MS << min(attempt - 1, 10), _LONGEST_PAUSE_MS)
    return Answer(ok=False, error=str(error), error_class="unavailable", handed_back=True, retry_after_ms=wait)


LONGEST_MS: Final = 60_000
"""How long after its message has arrived a worker takes runs over. A batch of messages ends when all its runs have."""
EMPTY_MS: Final = 5_000
"""How long a queue counts as empty after it was asked. The question takes time in which a place is not in use."""
MARGIN_MS: Final = 60_000
"""The time that a worker needs for a run on top of the longest call: to ask the gates, and to store the end."""


@dataclass(slots=True)
class NextRun:
    """The next run of a worker, at most one. `finish_run` offers it the runs that it wakes."""

    engine: Core
    first: RunMessage
    """The message that the worker received. Only runs of its queue are taken over."""
    received_at: int
    ends_at: int | None
    message: RunMessage | None = None
    found_empty_at: int | None = None

    def accept(self, message: RunMessage) -> bool:
        """Take a woken run over, if it is the only one and this worker can run it now. Return whether it did."""
        if self.message is None and self._fits(message):
            self.message = message
        return self.message is message

    def pop(self) -> RunMessage | None:
        message, self.message = self.message, None
        return message

    def send(self) -> None:
        message = self.pop()
        if message is not None:
            send_later(self.engine, message, 0)

    def _fits(self, message: RunMessage) -> bool:
        now = self.engine.clock.now()
        pool = self.engine.deployment.pools.get(message.pool)
        if pool is None or message.pool != self.first.pool or message.due_at > now:
            return False
        if pool.queues > 1 and message.priority is not self.first.priority:
            return False  # each priority has its share of the workers
        if now > self.received_at + LONGEST_MS:
            return False
        if self.ends_at is not None and now + pool.longest_seconds * 1000 + MARGIN_MS > self.ends_at:
            return False
        return self._no_other_waits(message)

    def _no_other_waits(self, message: RunMessage) -> bool:
        """Return whether the queue was empty lately. Otherwise the run takes its turn there, behind other runs."""
        now = self.engine.clock.now()
        if self.found_empty_at is not None and now - self.found_empty_at < EMPTY_MS:
            return True
        try:
            is_empty = self.engine.queues.visible(message.pool, message.priority) == 0
        except Unavailable:
            return False
        self.found_empty_at = now if is_empty else None
        return is_empty


def send_later(engine: Core, message: RunMessage, after_ms: int) -> None:
    """Send a run that has no message, for later. If that fails, the sweep finds the run."""
    now = engine.clock.now()
    later = replace(message, due_at=max(message.due_at, now + after_ms))
    engine.queues.send([later], Deadline.after(now, patience.SEND_MS))


LONGEST_WAIT_MS: Final = 2_000
"""The longest time that the function waits for the run's fire time. A message that is earlier is delivered again
instead."""


class Leases(Protocol):
    """A lease keeper: it extends the lease of an attempt with its progress, and stops one that must not go on."""

    def keeping(self, run: Record, stop: Stop, progress: LatestProgress) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class RunExecutor:
    engine: Core
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
    early = message.due_at - engine.clock.now()
    if early > LONGEST_WAIT_MS:
        return Redeliver(early, "early")
    engine.clock.sleep_until(message.due_at)
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
