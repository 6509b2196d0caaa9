"""The index of patterns: found under each of their keys and nowhere else, kept apart, removed by name; events' ids."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from onthedot.core.ports import Clock
from onthedot.events.pattern_store import PatternStore
from onthedot.events.patterns import MOST_KEYS, index_keys, lookup_keys
from onthedot.events.ports import PatternEntry
from tests.contract.kits.kit import PAGE_SIZE, Kit

pytestmark = pytest.mark.on_items

LONG = 4_000
"""Characters: about as long as a pattern can be."""


def an_entry(clock: Clock, job_id: str = "job_a", name: str = "n1", pattern: str = "{}") -> PatternEntry:
    return PatternEntry(job_id, name, pattern, clock.now())


def found(patterns: PatternStore, *keys: str, tenant: str = "acme") -> list[PatternEntry]:
    return list(patterns.matching(tenant, keys))


def test_an_entry_is_found_under_each_of_its_keys_with_every_field(patterns: PatternStore, clock: Clock) -> None:
    entry = PatternEntry("job_ü", "n#1", '{"source":["☂"],"x":"' + "y" * LONG + '"}', clock.now())
    patterns.put("tenant/ü", ["a", "b"], entry)
    assert found(patterns, "a", tenant="tenant/ü") == [entry]
    assert found(patterns, "b", tenant="tenant/ü") == [entry]
    assert found(patterns, "c", tenant="tenant/ü") == []


def test_what_stands_under_two_keys_that_are_asked_for_comes_twice(patterns: PatternStore, clock: Clock) -> None:
    entry = an_entry(clock)
    patterns.put("acme", ["a", "b"], entry)
    assert found(patterns, "b", "a") == [entry, entry]


def test_a_pattern_may_stand_under_as_many_keys_as_there_can_be(patterns: PatternStore, clock: Clock) -> None:
    keys = [f"{n}-" + "k" * 900 for n in range(MOST_KEYS)]
    patterns.put("acme", keys, an_entry(clock))
    assert len(found(patterns, *keys)) == MOST_KEYS
    patterns.remove("acme", keys, "job_a", "n1")
    assert found(patterns, *keys) == []


def test_tenants_do_not_see_each_other_whatever_their_names(patterns: PatternStore, clock: Clock) -> None:
    patterns.put("a", ["#b"], an_entry(clock))
    assert found(patterns, "b", tenant="a#") == []
    assert found(patterns, "#b", tenant="b") == []
    assert len(found(patterns, "#b", tenant="a")) == 1


def test_put_twice_is_put_once(patterns: PatternStore, clock: Clock) -> None:
    entry = an_entry(clock)
    patterns.put("acme", ["a"], entry)
    patterns.put("acme", ["a"], entry)
    assert found(patterns, "a") == [entry]


def test_two_patterns_of_a_job_stand_side_by_side_and_go_by_their_names(patterns: PatternStore, clock: Clock) -> None:
    old, new = an_entry(clock), an_entry(clock, name="n2", pattern='{"source":["bank"]}')
    patterns.put("acme", ["a", "b"], old)
    patterns.put("acme", ["a"], new)
    assert sorted(found(patterns, "a"), key=lambda entry: entry.name) == [old, new]
    patterns.remove("acme", ["a", "b"], "job_a", "n1")
    assert (found(patterns, "a"), found(patterns, "b")) == ([new], [])


def test_removing_what_is_not_there_changes_nothing(patterns: PatternStore, clock: Clock) -> None:
    entry = an_entry(clock)
    patterns.put("acme", ["a"], entry)
    patterns.remove("acme", ["a"], "job_b", "n1")
    patterns.remove("other", ["a"], "job_a", "n1")
    patterns.remove("acme", ["b"], "job_a", "n1")
    assert found(patterns, "a") == [entry]


@pytest.mark.parametrize("count", [PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 3 * PAGE_SIZE + 2])
def test_more_than_a_page_is_found_whole(patterns: PatternStore, clock: Clock, count: int) -> None:
    jobs = [f"job_{n:03d}" for n in range(count)]
    for job_id in jobs:
        patterns.put("acme", ["a"], an_entry(clock, job_id))
    assert sorted(entry.job_id for entry in found(patterns, "a")) == jobs


def test_what_was_put_is_found_at_once(patterns: PatternStore, clock: Clock) -> None:
    for n in range(20):
        patterns.put("acme", [f"k{n}"], an_entry(clock))
        assert found(patterns, f"k{n}")


def test_real_keys_lead_an_event_to_its_pattern(patterns: PatternStore, clock: Clock) -> None:
    sources = ["shop", "x" * 600]
    keys = index_keys({"source": sources, "detail-type": [{"prefix": "Order"}]})
    patterns.put("acme", keys, an_entry(clock))
    for source in sources:
        assert len(found(patterns, *lookup_keys({"source": source, "detail-type": "Order Paid"}))) == 1
    assert found(patterns, *lookup_keys({"source": "bank", "detail-type": "Order Paid"})) == []


def test_an_event_keeps_the_time_that_it_came_with_first(patterns: PatternStore, clock: Clock) -> None:
    later = clock.now() // 1000 + 1000
    assert patterns.first_time("acme", "e-1", 111, later) == 111
    assert patterns.first_time("acme", "e-1", 222, later) == 111
    assert patterns.first_time("acme", "e-2", 222, later) == 222
    assert patterns.first_time("other", "e-1", 333, later) == 333


def test_an_event_is_forgotten_when_its_time_is_over(patterns: PatternStore, clock: Clock) -> None:
    patterns.first_time("acme", "e-1", 111, clock.now() // 1000 - 1)
    later = clock.now() // 1000 + 1000
    assert patterns.first_time("acme", "e-1", 222, later) == 222
    assert patterns.first_time("acme", "e-1", 333, later) == 222


def test_of_many_that_tell_of_an_event_at_once_one_is_the_first(kit: Kit) -> None:
    patterns = kit.stores.patterns
    later = kit.clock.now() // 1000 + 1000
    with ThreadPoolExecutor(8) as tellers:
        told = set(tellers.map(lambda time: patterns.first_time("acme", "e", time, later), range(1, 33)))
    assert len(told) == 1


def test_an_entry_that_is_put_again_is_as_new_as_that(patterns: PatternStore, clock: Clock) -> None:
    entry = an_entry(clock)
    patterns.put("acme", ["a"], entry)
    patterns.put("acme", ["a"], replace(entry, put_at=entry.put_at + 1))
    assert [again.put_at for again in found(patterns, "a")] == [entry.put_at + 1]
