"""Who may be handed over now: tenants' limits, weights and the queues' backlog, decided at claim time.

What is held back stays PENDING in its fire slot, which is read again at the next tick at the price of a read; the
reason names the limit, for `explain`.
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
    """`in_flight`: runs handed over and not ended, approximately. `per_second`: averaged over each minute."""

    in_flight: int | None = None
    per_second: float | None = None
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """The limited tenants, and who is held back at the moment, with the reason."""

    tenants: Mapping[str, TenantLimits] = field(default_factory=dict)
    throttled: Mapping[str, str] = field(default_factory=dict)

    def why_throttled(self, tenant: str, pool: str, priority: Priority) -> str | None:
        """Why a run of this tenant for this queue was held back lately, if it was."""
        return self.throttled.get(tenant) or self.throttled.get(queue_name(pool, priority))


def queue_name(pool: str, priority: Priority) -> str:
    return f"{QUEUE_PREFIX}{queue_key(pool, priority)}"


class Claimable(Protocol):
    @property
    def tenant(self) -> str: ...
    @property
    def pool(self) -> str: ...
    @property
    def priority(self) -> Priority: ...
    @property
    def fire_at(self) -> int: ...


Entry = TypeVar("Entry", bound=Claimable)


def fair_order(entries: Sequence[Entry], limits: Limits) -> list[Entry]:
    """Weighted round robin over the tenants, each tenant's own runs in their order.

    In every prefix a tenant of weight w that has runs left stands w times as often as one of weight 1, give or take
    one turn.
    """
    turns: Counter[str] = Counter()
    ranked: list[tuple[float, int, Entry]] = []
    for number, entry in enumerate(entries):
        turns[entry.tenant] += 1
        weight = limits.tenants.get(entry.tenant, TenantLimits()).weight
        ranked.append((turns[entry.tenant] / weight, number, entry))
    return [entry for _, _, entry in sorted(ranked, key=lambda rank: rank[:2])]


@dataclass(slots=True)
class Quota:
    """What one tick of one group may still hand over. `share` is the group's part of all shards."""

    limits: Limits
    share: float
    now: int
    count_in_flight: Callable[[], Iterable[Claimable]]
    """Reads what is handed over and has not ended; asked only if a limited tenant wants something."""
    backlog: Callable[[str, Priority], str | None]
    """Why a queue takes no more, if it does not."""
    throttled: dict[str, str] = field(default_factory=dict)
    _used: tuple[Counter[str], Counter[tuple[str, int]]] | None = None
    _backlogs: dict[tuple[str, Priority], str | None] = field(default_factory=dict)

    def choose(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those that may go, in fair order; the others are noted as held, with the reason."""
        return [entry for entry in fair_order(entries, self.limits) if self._admits(entry)]

    def _admits(self, entry: Claimable) -> bool:
        queue = (entry.pool, entry.priority)
        if queue not in self._backlogs:
            self._backlogs[queue] = self.backlog(*queue)
        why = self._backlogs[queue]
        if why is not None:
            self.throttled[queue_name(*queue)] = why
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
