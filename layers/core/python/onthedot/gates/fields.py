"""Models of the requests about gates and limits, and the fields of jobs that name gates."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, ConfigDict, Field, JsonValue

from onthedot.api.fields import Fields, describe_nulls, printable
from onthedot.api.reading import SMALL_BODY, read_model, read_object
from onthedot.core.errors import Problem
from onthedot.core.gate_names import MOST_KEY_CHARACTERS, NAME
from onthedot.gates.limits import (
    LEAST_PER_SECOND,
    MOST_BURST,
    MOST_IN_FLIGHT,
    MOST_PER_SECOND,
    MOST_WEIGHT,
    GateLimits,
    TenantLimits,
)


def _gate(text: str) -> str:
    name, colon, key = text.partition(":")
    if not NAME.fullmatch(name):
        raise ValueError("is not a gate; give 1 to 64 of a-z, 0-9, _ and -, such as stripe, or with a key customer:42")
    if colon and not 0 < len(key) <= MOST_KEY_CHARACTERS:
        raise ValueError(f"has a key of {len(key)} characters; give 1 to {MOST_KEY_CHARACTERS} after the colon")
    return printable(text)


GateName = Annotated[str, AfterValidator(_gate)]


def _bounds(least: float, most: float) -> dict[str, JsonValue]:
    """Return the bounds of a number for the OpenAPI document. `limits.problems` checks them."""
    return {"minimum": least, "maximum": most}


def _with_nulls(schema: dict[str, Any]) -> None:
    describe_nulls(schema, schema["properties"].keys())


class GateFields(Fields):
    """The limits of a gate. They replace all limits that it has. null, or a field that is left out: no limit."""

    model_config = ConfigDict(json_schema_extra=_with_nulls)

    in_flight: Annotated[
        int | None,
        Field(
            description="how many attempts may run at a time; 0 stops the gate",
            json_schema_extra=_bounds(0, MOST_IN_FLIGHT),
        ),
    ] = None
    per_second: Annotated[
        float | None,
        Field(
            description=f"how many may start per second: at least {LEAST_PER_SECOND}, or 0, which stops the gate",
            json_schema_extra=_bounds(0, MOST_PER_SECOND),
        ),
    ] = None
    burst: Annotated[
        int | None,
        Field(
            description="how many may start at once after a quiet period (1); only with per_second",
            json_schema_extra=_bounds(1, MOST_BURST),
        ),
    ] = None
    paused: Annotated[bool | None, Field(description="whether nothing starts")] = None

    def limits(self) -> GateLimits:
        return GateLimits(self.in_flight, self.per_second, self.burst, bool(self.paused))


class TenantLimitsFields(GateFields):
    """The limits of a tenant. They replace all limits that it has. null, or a field that is left out: no limit."""

    weight: Annotated[
        int | None,
        Field(
            description="share of the tenant, relative to tenants of weight 1 (1)",
            json_schema_extra=_bounds(1, MOST_WEIGHT),
        ),
    ] = None

    def limits(self) -> TenantLimits:
        weight = 1 if self.weight is None else self.weight
        return TenantLimits(self.in_flight, self.per_second, self.burst, bool(self.paused), weight=weight)


AnyLimits = TypeVar("AnyLimits", bound=GateFields)


def read_limits(model: type[AnyLimits], body: bytes) -> AnyLimits:
    """Return the limits in a body. Each field may be null. Raise ApiError or InvalidRequest."""
    return read_model(model, read_object(body, SMALL_BODY))


def repeated_gate_problems(gates: Sequence[str]) -> list[Problem]:
    return [
        Problem(f"gates.{number}", "is listed twice; remove one")
        for number, gate in enumerate(gates)
        if gate in gates[:number]
    ]
