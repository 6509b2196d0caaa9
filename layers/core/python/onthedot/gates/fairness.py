"""The order in which tenants take turns when the runs of a slot are claimed, or taken off the list of a queue."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeVar

from onthedot.gates.limits import Limits


class Owned(Protocol):
    """A run as the order needs to know it: a record or an entry of the due index."""

    @property
    def tenant(self) -> str: ...


AnyOwned = TypeVar("AnyOwned", bound=Owned)


def fair_order(entries: Sequence[AnyOwned], limits: Limits) -> list[AnyOwned]:
    """Order the runs by weighted round robin over the tenants. Each tenant's own runs keep their order.

    In every prefix of the result a tenant of weight w that has runs left has w times as many runs as a tenant of
    weight 1, give or take one turn.
    """
    turns: Counter[str] = Counter()
    ranked: list[tuple[float, int, AnyOwned]] = []
    for number, entry in enumerate(entries):
        turns[entry.tenant] += 1
        ranked.append((turns[entry.tenant] / limits.weight(entry.tenant), number, entry))
    return [entry for _, _, entry in sorted(ranked, key=lambda rank: rank[:2])]
