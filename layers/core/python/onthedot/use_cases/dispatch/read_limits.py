"""Read tenants' limits, and mark throttled tenants and queues. Neither stops runs when the store of limits fails."""

import logging
from collections.abc import Mapping
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.fairness import Limits
from onthedot.ports import Engine

_LOG: Final = logging.getLogger(__name__)


def read_limits(engine: Engine) -> Limits:
    """Return the limits, or none when they cannot be read: one tenant's limit must not stop the other tenants."""
    try:
        return engine.limits.read()
    except Unavailable as error:
        _LOG.warning("limits_unknown", extra={"error": str(error)})
        return Limits(known=False)


def mark_throttled(engine: Engine, group: int, throttled: Mapping[str, str]) -> bool:
    """Store which tenants and queues the group throttles. Return False when that fails: the next tick does it again."""
    try:
        engine.limits.mark_throttled(group, throttled)
    except Unavailable as error:
        _LOG.warning("throttled_not_marked", extra={"group": group, "error": str(error)})
        return False
    return True
