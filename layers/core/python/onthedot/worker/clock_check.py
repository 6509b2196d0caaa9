"""Compare this machine's clock with the `Date` of AWS's replies, which costs no extra call.

Leases, fire times and fencing are instants of the wall clock. A worker whose clock is off would start runs early, or
count on a lease that has ended for the other workers.
"""

import threading
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

from onthedot.worker.work_source import NotAllowed

MOST_OFF_MS: Final = 1_000
_RESOLUTION_MS: Final = 1_000
"""A `Date` is in whole seconds: the reply was made within the second after it."""


def clock_offset_ms(sent_at: int, received_at: int, date: str) -> int:
    """Return by how much our clock is certainly ahead (positive) or behind (negative), 0 if it may be right.

    The reply was made between our sending and our receiving. Raise ValueError for a text that is no date.
    """
    made_at = round(parsedate_to_datetime(date).timestamp() * 1000)
    if sent_at > made_at + _RESOLUTION_MS:
        return sent_at - (made_at + _RESOLUTION_MS)
    return min(received_at - made_at, 0)


class ClockCheck:
    """An observer of the replies to boto3 clients. Safe to use from several threads."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._call = threading.local()
        self._offset_ms = 0

    def watch(self, events: Any) -> None:
        """Observe all calls of a botocore session or client. `events` is its event system."""
        events.register("before-send", self._note_sending)
        events.register("after-call", self._note_reply)

    def check(self) -> None:
        """Raise NotAllowed when the last reply showed that this machine's clock is off."""
        offset_ms = self._offset_ms
        if abs(offset_ms) > MOST_OFF_MS:
            direction = "ahead of" if offset_ms > 0 else "behind"
            raise NotAllowed(
                f"this machine's clock is {abs(offset_ms) / 1000:.1f} s {direction} AWS's, and runs would start at "
                "wrong times; have it set by NTP (chronyd, systemd-timesyncd, w32time) and start the worker again"
            )

    def _note_sending(self, **_: Any) -> None:
        self._call.sent_at = self._now()

    def _note_reply(self, parsed: Mapping[str, Any], **_: Any) -> None:
        date = parsed.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        sent_at = getattr(self._call, "sent_at", None)
        if date is None or sent_at is None:
            return
        try:
            self._offset_ms = clock_offset_ms(sent_at, self._now(), date)
        except ValueError:
            return  # an unreadable date says nothing about our clock
