"""Weighted round robin, tenants' limits and backpressure, as pure decisions."""

from collections import Counter
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from onthedot.domain.runs.fairness import Limits, Quota, TenantLimits, fair_order
from onthedot.domain.runs.records import Priority
from tests.builders import NOON


@dataclass(frozen=True)
class Wish:
    tenant: str
    number: int
    fire_at: int = NOON
    pool: str = "default"
    priority: Priority = Priority.MEDIUM


tenants = st.sampled_from(["a", "b", "c", "d"])
weights = st.dictionaries(tenants, st.integers(1, 10).map(lambda w: TenantLimits(weight=w)))


def wishes(tenants_in_order: list[str]) -> list[Wish]:
    return [Wish(tenant, number) for number, tenant in enumerate(tenants_in_order)]


def admission(
    limits: Limits, in_flight: list[Wish] | None = None, backlog: str | None = None, share: float = 1
) -> Quota:
    return Quota(limits, share, NOON, lambda: in_flight or [], lambda *_: backlog)


@given(st.lists(tenants, max_size=60), weights)
def test_nobody_is_lost_or_doubled_and_each_tenants_order_stays(
    names: list[str], limits: dict[str, TenantLimits]
) -> None:
    entries = wishes(names)
    ordered = fair_order(entries, Limits(limits))
    assert Counter(ordered) == Counter(entries)
    for tenant in set(names):
        numbers = [entry.number for entry in ordered if entry.tenant == tenant]
        assert numbers == sorted(numbers)


@given(st.lists(tenants, max_size=80), weights)
def test_in_every_prefix_tenants_with_runs_left_stand_by_their_weight(
    names: list[str], limits: dict[str, TenantLimits]
) -> None:
    ordered = fair_order(wishes(names), Limits(limits))
    total = Counter(names)
    taken: Counter[str] = Counter()
    for entry in ordered:
        taken[entry.tenant] += 1
        waiting = [t for t in total if taken[t] < total[t]]
        turns = {t: taken[t] / limits.get(t, TenantLimits()).weight for t in waiting}
        if turns:
            slack = max(1 / limits.get(t, TenantLimits()).weight for t in waiting)
            assert max(turns.values()) - min(turns.values()) <= slack + 1e-9


def test_a_crowd_of_one_tenant_does_not_stand_before_another() -> None:
    ordered = fair_order(wishes(["big"] * 1_000 + ["small"]), Limits())
    assert [entry.tenant for entry in ordered[:2]] == ["big", "small"]


@given(st.lists(tenants, max_size=80), st.integers(0, 20), st.lists(tenants, max_size=20))
def test_in_flight_never_passes_its_limit(names: list[str], limit: int, flying: list[str]) -> None:
    limits = Limits({"a": TenantLimits(in_flight=limit)})
    gate = admission(limits, wishes(flying))
    chosen = gate.choose(wishes(names))
    before = flying.count("a")
    assert before + sum(entry.tenant == "a" for entry in chosen) <= max(limit, before)
    assert sum(entry.tenant != "a" for entry in chosen) == sum(name != "a" for name in names)
    held = names.count("a") - sum(entry.tenant == "a" for entry in chosen)
    assert ("a" in gate.throttled) == (held > 0)
    assert held == 0 or "limit in_flight" in gate.throttled["a"]


def test_the_rate_counts_by_the_minute_of_the_fire_time() -> None:
    limits = Limits({"a": TenantLimits(per_second=0.1)})  # six a minute
    gate = admission(limits, [Wish("a", n, NOON + 1_000) for n in range(2)])
    this_minute = [Wish("a", n, NOON + n) for n in range(10)]
    next_minute = [Wish("a", 100 + n, NOON + 60_000 + n) for n in range(10)]
    chosen = gate.choose([*this_minute, *next_minute])
    assert [len([e for e in chosen if e in minute]) for minute in (this_minute, next_minute)] == [4, 6]
    assert "limit per_second" in gate.throttled["a"]


def test_a_group_of_shards_has_its_share_of_a_limit() -> None:
    limits = Limits({"a": TenantLimits(in_flight=100)})
    assert len(admission(limits, share=0.25).choose(wishes(["a"] * 200))) == 25


def test_a_backlogged_queue_takes_nothing_and_says_why() -> None:
    gate = admission(Limits(), backlog="backpressure: full")
    assert gate.choose(wishes(["a", "b"])) == []
    assert gate.throttled == {"queue:default-medium": "backpressure: full"}
    assert Limits(throttled=gate.throttled).why_throttled("anybody", "default", Priority.MEDIUM) == "backpressure: full"
    assert Limits(throttled=gate.throttled).why_throttled("anybody", "default", Priority.HIGH) is None


def test_without_limits_nothing_is_counted() -> None:
    def never() -> list[Wish]:
        raise AssertionError("the watch slots were read for nothing")

    gate = Quota(Limits({"other": TenantLimits(in_flight=1)}), 1, NOON, never, lambda *_: None)
    assert len(gate.choose(wishes(["a"] * 10))) == 10
