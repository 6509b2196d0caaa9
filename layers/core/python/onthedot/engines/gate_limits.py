"""Read the stored limits of a gate or a tenant, for both engines. Limits that cannot be read stop the gate.

So its runs wait: none is lost, and none starts that the limits might forbid.
"""

import logging
from typing import Final

from onthedot import registry_codec
from onthedot.domain.gates.limits import GateLimits, TenantLimits

_LOG: Final = logging.getLogger(__name__)


def gate_limits_or_stop(tenant: str, name: str, text: str | None) -> GateLimits:
    """Return the limits of a tenant's gate."""
    try:
        return registry_codec.gate_limits_of(text or "")
    except registry_codec.DAMAGED as error:
        _LOG.error("limits_unreadable", extra={"tenant": tenant, "gate": name, "why": repr(error)})
        return GateLimits(paused=True)


def tenant_limits_or_stop(tenant: str, text: str | None) -> TenantLimits:
    """Return the limits of a tenant."""
    try:
        return registry_codec.limits_of(text or "")
    except registry_codec.DAMAGED as error:
        _LOG.error("limits_unreadable", extra={"tenant": tenant, "why": repr(error)})
        return TenantLimits(paused=True)
