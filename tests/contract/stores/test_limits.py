"""The limits of tenants."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from onthedot.gates.limits import Limits, TenantLimits
from tests.contract.kits.kit import Kit

pytestmark = pytest.mark.on_items


def test_without_limits_there_are_none(kit: Kit) -> None:
    assert kit.stores.limits.read() == Limits()


def test_limits_are_kept_for_each_tenant_and_can_be_lifted(kit: Kit) -> None:
    limits = kit.stores.limits
    limits.put("acme", TenantLimits(in_flight=5, per_second=2.5, weight=3))
    limits.put("other", TenantLimits(weight=2))
    limits.put("acme", TenantLimits(in_flight=6))
    assert limits.read().tenants == {"acme": TenantLimits(in_flight=6), "other": TenantLimits(weight=2)}
    limits.put("acme", None)
    assert set(limits.read().tenants) == {"other"}


def test_the_limits_of_one_tenant_are_found_as_they_are_now(kit: Kit) -> None:
    limits = kit.stores.limits
    assert limits.find("acme") is None
    whole = TenantLimits(in_flight=5, per_second=2.5, burst=3, paused=True, weight=3)
    limits.put("acme", whole)
    limits.put("acme#2", TenantLimits(weight=2))
    assert (limits.find("acme"), limits.find("acme#2"), limits.find("acm")) == (whole, TenantLimits(weight=2), None)
    limits.put("acme", None)
    assert limits.find("acme") is None


def test_limits_that_cannot_be_read_stop_their_tenant_and_no_other(kit: Kit) -> None:
    limits = kit.stores.limits
    limits.put("other", TenantLimits(in_flight=1))
    kit.write_limits("acme", None, "{")
    assert limits.find("acme") == TenantLimits(paused=True)
    assert limits.read().tenants == {"other": TenantLimits(in_flight=1)}


def test_there_is_no_bound_on_the_number_of_limited_tenants(kit: Kit) -> None:
    """One item for all of them would reach the 400 KB of an item, and end all ticks."""
    limits = kit.stores.limits
    many = {f"{'tenant' * 16}{number}": TenantLimits(in_flight=number + 1) for number in range(200)}
    for tenant, value in many.items():
        limits.put(tenant, value)
    assert limits.read().tenants == many


def test_two_operators_at_once_lose_nothing(kit: Kit) -> None:
    limits = kit.stores.limits
    tenants = [f"tenant{number}" for number in range(12)]
    with ThreadPoolExecutor(6) as operators:
        list(operators.map(lambda tenant: limits.put(tenant, TenantLimits(weight=2)), tenants))
    assert set(limits.read().tenants) == set(tenants)


def test_limits_of_more_bytes_than_one_answer_of_dynamodb_has_are_all_read(kit: Kit) -> None:
    """It answers a query with up to 1 MB. A later version may write more fields than this one reads."""
    tenants = [f"tenant{number}" for number in range(6)]
    for number, tenant in enumerate(tenants):
        kit.write_limits(tenant, None, json.dumps({"weight": number + 2, "later": "x" * 300_000}))
    assert kit.stores.limits.read().tenants == {name: TenantLimits(weight=n + 2) for n, name in enumerate(tenants)}


def test_pages_of_a_tenants_gates_are_bounded_by_bytes_too(kit: Kit) -> None:
    names = [f"gate{number}" for number in range(6)]
    for name in names:
        kit.write_limits("acme", name, json.dumps({"in_flight": 2, "later": "x" * 300_000}))
    shown, cursor = [], None
    while True:
        page = kit.stores.gates.names("acme", 100, cursor)
        shown += [name for name, _ in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert shown == names
