"""Models of the requests about limits of tenants."""

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field

from onthedot.api.core.body import read_object
from onthedot.api.core.fields import describe_nulls
from onthedot.api.core.reading import SMALL_BODY, read_without_nulls
from onthedot.api.gates.fields import NO_LIMIT, GateFields, describe_bounds
from onthedot.domain.gates.limits import MOST_WEIGHT, TenantLimits

DEFAULTS: Final = NO_LIMIT | {"weight"}
"""Fields that may be null."""


def _with_nulls(schema: dict[str, Any]) -> None:
    describe_nulls(schema, DEFAULTS)


class TenantLimitsFields(GateFields):
    """The limits of a tenant. They replace all limits that it has. null, or a field that is left out: no limit."""

    model_config = ConfigDict(json_schema_extra=_with_nulls)

    weight: Annotated[
        int | None,
        Field(
            description="share of the tenant beside tenants of weight 1 (1)",
            json_schema_extra=describe_bounds(1, MOST_WEIGHT),
        ),
    ] = None

    def limits(self) -> TenantLimits:
        """Return the limits."""
        weight = 1 if self.weight is None else self.weight
        return TenantLimits(self.in_flight, self.per_second, self.burst, bool(self.paused), weight=weight)


def read_tenant_limits(body: bytes) -> TenantLimits:
    """Return the limits in a body. Raise ApiError or InvalidRequest."""
    return read_without_nulls(TenantLimitsFields, read_object(body, SMALL_BODY), DEFAULTS).limits()
