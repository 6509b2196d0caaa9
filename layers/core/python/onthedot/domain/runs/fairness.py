"""The choice of the runs that a claim pass may send now, by tenants' limits and weights and by the queues' backlog.

A throttled run stays PENDING in its fire slot, which the next tick reads again at the price of a read. The reason
names the limit, for `explain`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final, Protocol, TypeVar

from onthedot.domain.runs.queue_names import queue_key
from onthedot.domain.runs.records import Priority
from onthedot.domain.runs.slots import bucket_of

QUEUE_PREFIX: Final = "queue:"


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """The limits and the weight of one tenant."""

    in_flight: int | None = None
    """Most runs that are sent and have not ended. The limit is kept approximately."""
    per_second: float | None = None
    """Most runs a second, averaged over each minute."""
    weight: int = 1
    """Share of the tenant in a claim pass, beside tenants of weight 1."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of all tenants that have any, and the tenants and queues that are throttled at the moment."""

    tenants: Mapping[str, TenantLimits] = field(default_factory=dict)
    throttled: Mapping[str, str] = field(default_factory=dict)
    """The reason by tenant, or by `throttled_queue` for a queue."""
    known: bool = True
    """Whether these are the stored limits. False: they could not be read, and these are the last known ones or none."""

    def why_throttled(self, tenant: str, pool: str, priority: Priority) -> str | None:
        """Return why runs of this tenant for this queue were throttled lately, or None if they were not."""
        return self.throttled.get(tenant) or self.throttled.get(throttled_queue(pool, priority))


def throttled_queue(pool: str, priority: Priority) -> str:
    """Return the name of a queue in `Limits.throttled`, which also has names of tenants."""
    return f"{QUEUE_PREFIX}{queue_key(pool, priority)}"


class Claimable(Protocol):
    """A run as the quota needs to know it: a record or an entry of the due index."""

    @property
    def tenant(self) -> str: ...
    @property
    def pool(self) -> str: ...
    @property
    def priority(self) -> Priority: ...
    @property
    def fire_at(self) -> int: ...


AnyClaimable = TypeVar("AnyClaimable", bound=Claimable)


def fair_order(entries: Sequence[AnyClaimable], limits: Limits) -> list[AnyClaimable]:
    """Order the runs by weighted round robin over the tenants. Each tenant's own runs keep their order.

    In every prefix of the result a tenant of weight w that has runs left has w times as many runs as a tenant of
    weight 1, give or take one turn.
    """
    turns: Counter[str] = Counter()
    ranked: list[tuple[float, int, AnyClaimable]] = []
    for number, entry in enumerate(entries):
        turns[entry.tenant] += 1
        weight = limits.tenants.get(entry.tenant, TenantLimits()).weight
        ranked.append((turns[entry.tenant] / weight, number, entry))
    return [entry for _, _, entry in sorted(ranked, key=lambda rank: rank[:2])]


@dataclass(slots=True)
class Quota:
    """The runs that one tick of one shard group may still send."""

    limits: Limits
    share: float
    """The group's part of all shards."""
    now: int
    count_in_flight: Callable[[], Iterable[Claimable]]
    """Read the runs that are sent and have not ended. It is called only if a tenant with limits has runs to send."""
    closed: Callable[[str, Priority], str | None]
    """Return why a queue takes no more runs, or None if it does."""
    throttled: dict[str, str] = field(default_factory=dict)
    """The reason for each tenant and queue that this tick throttled, as in `Limits.throttled`."""
    _used: tuple[Counter[str], Counter[tuple[str, int]]] | None = None

    def choose(self, entries: Sequence[AnyClaimable]) -> list[AnyClaimable]:
        """Return the runs that may be sent, in fair order. Note the reason for the others in `throttled`."""
        return [entry for entry in fair_order(entries, self.limits) if self._allows(entry)]

    def _allows(self, entry: Claimable) -> bool:
        queue = (entry.pool, entry.priority)
        why = self.closed(*queue)
        if why is not None:
            self.throttled[throttled_queue(*queue)] = why
            return False
        why = self._over_limit(entry)
        if why is not None:
            self.throttled[entry.tenant] = why
        return why is None

    def _over_limit(self, entry: Claimable) -> str | None:
        limits = self.limits.tenants.get(entry.tenant)
        if limits is None or (limits.in_flight is None and limits.per_second is None):
            return None
        in_flight, by_minute = self._usage()
        minute = bucket_of(max(entry.fire_at, self.now))
        if limits.in_flight is not None and in_flight[entry.tenant] >= ceil(limits.in_flight * self.share):
            return f"tenant {entry.tenant} has {limits.in_flight} runs in flight (limit in_flight)"
        quota = None if limits.per_second is None else max(1, round(limits.per_second * 60 * self.share))
        if quota is not None and by_minute[entry.tenant, minute] >= quota:
            return f"tenant {entry.tenant} has {limits.per_second} runs a second already (limit per_second)"
        in_flight[entry.tenant] += 1
        by_minute[entry.tenant, minute] += 1
        return None

    def _usage(self) -> tuple[Counter[str], Counter[tuple[str, int]]]:
        if self._used is None:
            in_flight: Counter[str] = Counter()
            by_minute: defaultdict[tuple[str, int], int] = defaultdict(int)
            for run in self.count_in_flight():
                in_flight[run.tenant] += 1
                by_minute[run.tenant, bucket_of(max(run.fire_at, self.now))] += run.fire_at >= self.now
            self._used = (in_flight, Counter(by_minute))
        return self._used
