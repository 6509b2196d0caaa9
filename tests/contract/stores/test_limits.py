"""The limits of tenants, and the throttled tenants and queues."""

from concurrent.futures import ThreadPoolExecutor

from onthedot.domain.runs.fairness import Limits, TenantLimits
from onthedot.domain.runs.records import Priority
from tests.contract.kits.kit import Kit


def test_without_limits_there_are_none(kit: Kit) -> None:
    assert kit.limits().read() == Limits()


def test_limits_are_kept_for_each_tenant_and_can_be_lifted(kit: Kit) -> None:
    limits = kit.limits()
    limits.put("acme", TenantLimits(in_flight=5, per_second=2.5, weight=3))
    limits.put("other", TenantLimits(weight=2))
    limits.put("acme", TenantLimits(in_flight=6))
    assert limits.read().tenants == {"acme": TenantLimits(in_flight=6), "other": TenantLimits(weight=2)}
    limits.put("acme", None)
    assert set(limits.read().tenants) == {"other"}


def test_who_is_held_back_is_known_from_every_group_and_forgotten_when_it_is_over(kit: Kit) -> None:
    limits = kit.limits()
    limits.put("acme", TenantLimits(in_flight=1))
    limits.mark_throttled(0, {"acme": "limit in_flight"})
    limits.mark_throttled(1, {"queue:default-low": "backpressure"})
    read = limits.read()
    assert read.why_throttled("acme", "default", Priority.HIGH) == "limit in_flight"
    assert read.why_throttled("other", "default", Priority.LOW) == "backpressure"
    assert read.tenants == {"acme": TenantLimits(in_flight=1)}
    limits.mark_throttled(0, {})
    assert limits.read().throttled == {"queue:default-low": "backpressure"}


def test_there_is_no_bound_on_the_number_of_limited_tenants(kit: Kit) -> None:
    """One item for all of them would reach the 400 KB of an item, and end all ticks."""
    limits = kit.limits()
    many = {f"{'tenant' * 16}{number}": TenantLimits(in_flight=number + 1) for number in range(200)}
    for tenant, value in many.items():
        limits.put(tenant, value)
    assert limits.read().tenants == many


def test_two_operators_at_once_lose_nothing(kit: Kit) -> None:
    limits = kit.limits()
    tenants = [f"tenant{number}" for number in range(12)]
    with ThreadPoolExecutor(6) as operators:
        list(operators.map(lambda tenant: limits.put(tenant, TenantLimits(weight=2)), tenants))
    assert set(limits.read().tenants) == set(tenants)


def test_marks_that_do_not_fit_into_an_item_are_left_out_and_queues_come_first(kit: Kit) -> None:
    limits = kit.limits()
    marks = {f"tenant{number}": "tenant has 10 runs in flight (limit in_flight)" * 3 for number in range(5_000)}
    limits.mark_throttled(0, {**marks, "queue:default-low": "backpressure"})
    throttled = limits.read().throttled
    assert throttled["queue:default-low"] == "backpressure"
    assert 500 < len(throttled) < 1_000
    assert throttled.items() <= {**marks, "queue:default-low": "backpressure"}.items()
