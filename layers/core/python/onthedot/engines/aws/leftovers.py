"""Bounded, jittered retries of what a batch call left undone. A 200 does not mean that every entry succeeded."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from onthedot.domain.backoff import Backoff
from onthedot.domain.errors import Unavailable
from onthedot.ports import Clock, Deadline

Item = TypeVar("Item")

MESSAGES_PER_BATCH: Final = 10
"""What one call of SQS takes or gives."""
_FIRST_PAUSE_MS: Final = 50
_LONGEST_PAUSE_MS: Final = 5_000


def retry_leftovers(
    pending: Sequence[Item],
    attempt: Callable[[Sequence[Item]], Sequence[Item]],
    clock: Clock,
    deadline: Deadline,
) -> Sequence[Item]:
    """Call `attempt`, which returns what is still undone, until nothing is or time is up. Returns the rest."""
    backoff = Backoff(_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS)
    while True:
        with suppress(Unavailable):  # then nothing of this call is known to be done: all of it is still pending
            pending = attempt(pending)
        if not pending:
            return []
        wake = clock.now() + round(backoff.next())
        if not deadline.allows(wake):
            return pending
        clock.sleep_until(wake)


def tens(messages: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """The messages in batches for SQS."""
    return (messages[start : start + MESSAGES_PER_BATCH] for start in range(0, len(messages), MESSAGES_PER_BATCH))
