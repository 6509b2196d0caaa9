"""Read the limits of all tenants, for their weights."""

import logging
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates.limits import Limits
from onthedot.ports import Engine

_LOG: Final = logging.getLogger(__name__)


def read_limits(engine: Engine) -> Limits:
    """Return the limits, or none when they cannot be read: then each tenant has weight 1, and no run waits for it."""
    try:
        return engine.limits.read()
    except Unavailable as error:
        _LOG.warning("limits_unknown", extra={"error": str(error)})
        return Limits(known=False)
