"""Bounded, jittered retries of the entries that a batch call left undone. A 200 may contain failed entries."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from onthedot.domain.backoff import Backoff
from onthedot.domain.errors import Unavailable
from onthedot.ports import Clock, Deadline

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

    `attempt` takes the pending items and returns the items that are still undone.
    """
    backoff = Backoff(_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS)
    while True:
        with suppress(Unavailable):  # no entry of this call is known to be done, so all of them stay pending
            pending = attempt(pending)
        if not pending:
            return []
        wake = clock.now() + round(backoff.next())
        if not deadline.allows(wake):
            return pending
        clock.sleep_until(wake)


def tens(messages: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Return the messages in batches of the size that SQS takes."""
    return (messages[start : start + MESSAGES_PER_BATCH] for start in range(0, len(messages), MESSAGES_PER_BATCH))
