"""How long both engines keep the state of a gate that nothing uses."""

from typing import Final

_DAY: Final = 24 * 3600
KEPT_DAYS: Final = 30
"""Days after the last write of a gate's state. No attempt runs so long, and a flagged gate is written every hour."""


def expires_at(now: int) -> int:
    """Return the end of the last day, in epoch seconds, on which a state that is written now is kept."""
    return (now // 1000 // _DAY + KEPT_DAYS + 1) * _DAY
