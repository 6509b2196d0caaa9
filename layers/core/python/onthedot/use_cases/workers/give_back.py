"""Give a received message back to its queue, or delete it. A message that was given back many times is renewed.

A queue takes a message for a dead letter after a number of deliveries, whatever their reason. A run that no worker can
take for hours must keep a message all the same.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Final

from onthedot.domain.errors import OnthedotError
from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Status
from onthedot.domain.workers.pools import MOST_RECEIVES, PoolKind
from onthedot.ports import Deadline, Engine, Received, RunMessage
from onthedot.use_cases import patience
from onthedot.use_cases.dispatch.send_runs import message_for
from onthedot.use_cases.gates.wait_at_gate import flag_again
from onthedot.use_cases.outcomes import is_record_written

RENEW_AFTER: Final = MOST_RECEIVES[PoolKind.PULL] // 5
"""Deliveries of a message after which it is renewed."""
RENEWED_DELAY_MS: Final = 30_000
"""The delay of a renewed message. It must not arrive before the run has its new generation, so half of it is for that
write."""


def give_back(engine: Engine, received: Received, after_ms: int | None) -> None:
    """Have the message delivered again after this time. None: when the time of its receive is over.

    If this fails, the queue delivers it again by itself.
    """
    with suppress(OnthedotError):
        if received.receive_count >= RENEW_AFTER and _renew(engine, received.message):
            engine.queues.delete(received)
        elif after_ms is not None:
            engine.queues.hide(received, after_ms)


def delete(engine: Engine, received: Received) -> None:
    """Delete a message that is not needed any more. If this fails, the queue delivers it again by itself."""
    with suppress(OnthedotError):
        engine.queues.delete(received)


def _renew(engine: Engine, message: RunMessage) -> bool:
    """Replace the message by a new one. Return whether the old one is not needed any more.

    The new message is sent before the run gets its generation. So the run has one valid message at every moment, also
    when this process dies between the steps, and all its other messages are stale at the end.
    """
    run = engine.store.get(message.run_id)
    if run is None:
        return True
    if run.generation != message.generation:
        flag_again(engine, run)
        return True
    if run.status is not Status.DISPATCHED:
        return False
    now = engine.clock.now()
    move = lifecycle.renew(run, fresh_generation())
    renewed = lifecycle.applied(run, move)
    sent = replace(message_for(renewed), fire_at=now + RENEWED_DELAY_MS)
    unsent = engine.queues.send([sent], Deadline.after(now, patience.SEND_MS))
    if unsent or engine.clock.now() > now + RENEWED_DELAY_MS // 2:
        return False
    return is_record_written(renewed, engine.store.move(move))
