"""Tenants' limits, and who is held back by them."""

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
