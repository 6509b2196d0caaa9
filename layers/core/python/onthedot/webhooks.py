"""Check that a call came from onthedot, unchanged and recently. For the receivers of HTTP targets.

from onthedot import webhooks

webhooks.verify(body, headers, key)
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final

from onthedot.core.errors import OnthedotError
from onthedot.targets.webhooks import is_signed_by

TOLERANCE_SECONDS: Final = 300
"""The oldest call that counts as recent, and the largest difference of two clocks."""
MOST_DIGITS: Final = 15
"""The sender chooses the header, and Python refuses to read very long numbers."""


class NotVerified(OnthedotError):
    """The call did not come from onthedot, was changed, or is too old. Answer it with 401."""


def verify(
    body: bytes,
    headers: Mapping[str, str],
    key: str | Sequence[str],
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> str:
    """Check the Standard-Webhooks signature of a call, and return its id: the execution, the same on every attempt.

    `body` has the bytes as they arrived. `key` is a signing key (`whsec_…`), or several while keys change. `now` is the
    current time in epoch seconds, if it is not the clock's. Raise NotVerified.
    """
    message_id, stamp, signatures = (_header(headers, f"webhook-{name}") for name in ("id", "timestamp", "signature"))
    if not stamp.isdecimal() or not stamp.isascii() or len(stamp) > MOST_DIGITS:
        raise NotVerified("the header webhook-timestamp is not a time in seconds")
    present = time.time() if now is None else now
    if abs(present - int(stamp)) > tolerance_seconds:
        raise NotVerified(f"the call was signed more than {tolerance_seconds:g} s before or after now")
    keys = [key] if isinstance(key, str) else key
    if not any(is_signed_by(one, message_id, stamp, body, signatures) for one in keys):
        raise NotVerified("no signature fits: another key signed the call, or it was changed")
    return message_id


def _header(headers: Mapping[str, str], name: str) -> str:
    value = next((value for key, value in headers.items() if key.lower() == name), None)
    if value is None:
        raise NotVerified(f"the header {name} is missing")
    return value
