"""Bounded, jittered retries of the entries that a batch call left undone. A 200 may contain failed entries."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from onthedot.core.errors import Unavailable, Unreachable
from onthedot.core.ports import Clock, Deadline
from onthedot.core.retry import Backoff

_LOG: Final = logging.getLogger(__name__)
Item = TypeVar("Item")

MESSAGES_PER_BATCH: Final = 10
"""The number of messages that one call of SQS sends or receives."""
_FIRST_PAUSE_MS: Final = 50
_LONGEST_PAUSE_MS: Final = 5_000


def retry_leftovers(
    pending: Sequence[Item],
    attempt: Callable[[Sequence[Item]], Sequence[Item]],
    clock: Clock,
    deadline: Deadline,
) -> Sequence[Item]:
    """Call `attempt` until no item is left or the deadline passes, and return the items that are left.

    `attempt` takes the pending items and returns the items that are still undone. A service that is gone or denied is
    not called again.
    """
    backoff = first_backoff()
    while True:
        try:
            pending = attempt(pending)
        except Unreachable as error:
            _LOG.error("unreachable", extra={"error": str(error)})
            return pending
        except Unavailable:
            pass  # no entry of this call is known to be done, so all of them stay pending
        if not pending:
            return []
        if not pause(backoff, clock, deadline):
            return pending


def pause(backoff: Backoff, clock: Clock, deadline: Deadline) -> bool:
    """Wait before the next try. Return False at once when the deadline would pass meanwhile."""
    wake = clock.now() + round(backoff.next())
    if not deadline.allows(wake):
        return False
    clock.sleep_until(wake)
    return True


def first_backoff() -> Backoff:
    return Backoff(_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS)


def tens(messages: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Return the messages in batches of the size that SQS takes. Ten of the largest messages fit into a request."""
    return batches(messages, MESSAGES_PER_BATCH)


def batches(
    items: Iterable[Item], most: int, most_bytes: int = 0, size: Callable[[Item], int] = lambda _: 0
) -> Iterator[Sequence[Item]]:
    """Return the items in batches of at most this many items and bytes. A larger item is a batch of its own."""
    batch: list[Item] = []
    left = most_bytes
    for item in items:
        needed = size(item)
        if batch and (len(batch) == most or needed > left):
            yield batch
            batch, left = [], most_bytes
        batch.append(item)
        left -= needed
    if batch:
        yield batch
