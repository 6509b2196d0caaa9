"""Weighted round robin over tenants."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.choices import Priority
from onthedot.core.ports import SlotEntry
from onthedot.core.records import Kind
from onthedot.gates.limits import Limits, TenantLimits
from onthedot.gates.look import fair_order

tenants = st.sampled_from(["a", "b", "c", "d"])
weights = st.dictionaries(tenants, st.integers(1, 10).map(lambda w: TenantLimits(weight=w)))


def wishes(tenants_in_order: list[str]) -> list[SlotEntry]:
    return [
        SlotEntry(f"job_{number}", "fire", number, "g", tenant, Priority.MEDIUM, "default", Kind.ONE_OFF)
        for number, tenant in enumerate(tenants_in_order)
    ]


@given(st.lists(tenants, max_size=60), weights)
def test_nobody_is_lost_or_doubled_and_each_tenants_order_stays(
    names: list[str], limits: dict[str, TenantLimits]
) -> None:
    entries = wishes(names)
    ordered = fair_order(entries, Limits(limits))
    assert Counter(ordered) == Counter(entries)
    for tenant in set(names):
        numbers = [entry.due_at for entry in ordered if entry.tenant == tenant]
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


def test_when_limits_are_not_known_each_tenant_has_weight_1() -> None:
    ordered = fair_order(wishes(["a", "a", "b", "b"]), Limits(known=False))
    assert [entry.tenant for entry in ordered] == ["a", "b", "a", "b"]
