"""The cost of an event depends on the patterns that it can match: no other patterns are read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from onthedot.core.ports import Deadline, ReadRecords
from onthedot.core.records import Record
from onthedot.engines.sqlite import items
from onthedot.events.handle import handle_event
from onthedot.events.pattern_store import PatternStore
from onthedot.events.patterns import index_keys
from onthedot.events.ports import PatternEntry
from tests.builders import World, a_world
from tests.scenarios.kits.eventful import ORDERS, Eventful, an_event
from tests.scenarios.kits.faults import Faults, FaultyStore

MANY = 10_000


@dataclass
class CountingPatterns:
    """An index that counts the keys that are looked up, and each entry that is read for them."""

    inner: PatternStore
    lookups: list[str] = field(default_factory=list)
    read: int = 0

    def matching(self, tenant: str, keys: Sequence[str]) -> Iterator[PatternEntry]:
        self.lookups += keys
        for entry in self.inner.matching(tenant, keys):
            self.read += 1
            yield entry

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@dataclass
class CountingStore(FaultyStore):
    """Counts each record that is read."""

    read: int = 0

    def get(self, run_id: str) -> Record | None:
        self.read += 1
        return super().get(run_id)

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        self.read += len(run_ids)
        return super().get_many(run_ids, deadline)


@dataclass(frozen=True)
class Cost:
    lookups: int
    entries: int
    records: int


def cost_of_an_event(world: World) -> Cost:
    patterns, store = CountingPatterns(world.patterns), CountingStore(world.store, Faults())
    engine = replace(world.engine, patterns=cast(PatternStore, patterns), store=store)
    assert len(handle_event(engine, "acme", an_event(), Deadline.after(world.clock.now(), 20_000)).runs) == 1
    return Cost(len(patterns.lookups), patterns.read, store.read)


def store_patterns(world: World, count: int) -> None:
    """Of other sources, of other detail-types of the same source, and of other tenants."""
    for n in range(count):
        source, kind = (f"source-{n}", "Order Paid") if n % 2 else ("shop", f"Order Was {n}")
        keys = index_keys({"source": [source], "detail-type": [kind]})
        entry = PatternEntry(f"job_{n}", "n", '{"source":["x"]}', world.clock.now())
        world.patterns.put("other" if n % 10 == 0 else "acme", keys, entry)


@pytest.mark.parametrize("others", [0, MANY])
def test_an_event_reads_four_keys_and_the_one_job_that_can_match(world: World, others: int) -> None:
    store_patterns(world, others)
    Eventful(world).waiting_job(ORDERS)
    assert cost_of_an_event(world) == Cost(lookups=4, entries=1, records=1)


def test_the_embedded_index_is_searched_and_never_scanned() -> None:
    with a_world() as world, world.database.transaction() as connection:
        (plan,) = connection.execute(f"EXPLAIN QUERY PLAN {items.QUERY}", ("p", "", "", "~", 5)).fetchall()
        assert plan["detail"] == "SEARCH items USING PRIMARY KEY (partition=? AND sort>? AND sort<?)"


def test_patterns_that_can_match_and_do_not_cost_an_entry_and_no_record(world: World) -> None:
    shop = Eventful(world)
    shop.waiting_job(ORDERS)
    for n in range(50):
        shop.waiting_job({**ORDERS, "detail": {"order": {"number": [{"numeric": [">", 100 + n]}]}}})
    assert cost_of_an_event(world) == Cost(lookups=4, entries=51, records=1)
