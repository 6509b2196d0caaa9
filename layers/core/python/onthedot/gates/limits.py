"""The limits of a gate and of a tenant, and the bounds within which they can be kept strictly."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from onthedot.core.errors import Problem
from onthedot.core.patience import ASK_MS

KNOWN_MS: Final = 1_000
"""A process remembers limits for this long."""
IN_FORCE_MS: Final = KNOWN_MS + 3 * ASK_MS
"""So long after new limits were written, no attempt starts by the old ones.

The last attempt that knows the old limits has asked after one ask. One that knows the new limits, and counted the
holders before that, has asked after two. One that counted before this one took its place has asked after three.
"""
MOST_IN_FLIGHT: Final = 1_000
MOST_PER_SECOND: Final = 200.0
"""Each start at a gate with a rate writes its item. One item of DynamoDB takes 1,000 writes a second."""
LEAST_PER_SECOND: Final = 0.0001
MOST_BURST: Final = 10_000
MOST_QUIET_SECONDS: Final = 30 * 24 * 3600
"""The most seconds after which a whole burst may start again. A gate that nothing asks for longer is forgotten."""
MOST_WEIGHT: Final = 1_000
MOST_GATES_OF_TENANT: Final = 1_000


@dataclass(frozen=True, slots=True)
class GateLimits:
    """The limits of a gate. A limit that is None does not limit."""

    in_flight: int | None = None
    """The most attempts that run at a time. 0: none starts."""
    per_second: float | None = None
    """The most starts a second. 0: none starts."""
    burst: int | None = None
    """Starts that may happen at once after a quiet time. None: 1."""
    paused: bool = False
    put_at: int = 0
    put_by: str | None = None
    """The name of the token with which they were set. None: not known."""

    @property
    def is_stopped(self) -> bool:
        return self.paused or self.in_flight == 0 or self.per_second == 0

    @property
    def is_empty(self) -> bool:
        return self.in_flight is None and self.per_second is None and not self.paused


@dataclass(frozen=True, slots=True)
class TenantLimits(GateLimits):
    """The limits of a tenant, which an operator sets, and the weight of the tenant in a claim pass."""

    weight: int = 1
    """Share of the tenant in a claim pass, relative to tenants of weight 1."""


@dataclass(frozen=True, slots=True)
class Limits:
    tenants: Mapping[str, TenantLimits] = field(default_factory=dict)
    known: bool = True
    """Whether these are the stored limits. False: they could not be read, and these are the last known ones or none."""

    def weight(self, tenant: str) -> int:
        limits = self.tenants.get(tenant)
        return 1 if limits is None else limits.weight


def problems(limits: GateLimits) -> Iterator[Problem]:
    """Yield what cannot be kept strictly, or makes no sense."""
    if limits.in_flight is not None and not 0 <= limits.in_flight <= MOST_IN_FLIGHT:
        yield Problem("in_flight", f"must be from 0 to {MOST_IN_FLIGHT:,}; more cannot be counted strictly")
    if limits.per_second is not None and not (
        limits.per_second == 0 or LEAST_PER_SECOND <= limits.per_second <= MOST_PER_SECOND
    ):
        yield Problem(
            "per_second", f"must be 0, or from {LEAST_PER_SECOND} to {MOST_PER_SECOND:g}; more cannot be kept strictly"
        )
    if limits.burst is not None and limits.per_second is None:
        yield Problem("burst", "works only with per_second; add it, or remove burst")
    if limits.burst is not None and not 1 <= limits.burst <= MOST_BURST:
        yield Problem("burst", f"must be from 1 to {MOST_BURST:,}")
    elif limits.burst and limits.per_second and limits.burst > (most := int(limits.per_second * MOST_QUIET_SECONDS)):
        yield Problem("burst", f"must not exceed the starts of 30 days at this per_second; give {most:,} or less")
    if isinstance(limits, TenantLimits) and not 1 <= limits.weight <= MOST_WEIGHT:
        yield Problem("weight", f"must be from 1 to {MOST_WEIGHT:,}")
