"""Limits: what can be kept strictly, and what stops."""

import pytest

from onthedot.gates.limits import GateLimits, Limits, TenantLimits, problems

ANY = GateLimits(in_flight=5, per_second=2.0, burst=3)


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        (GateLimits(in_flight=-1), "in_flight"),
        (GateLimits(in_flight=1_001), "in_flight"),
        (GateLimits(per_second=-0.1), "per_second"),
        (GateLimits(per_second=0.00001), "per_second"),
        (GateLimits(per_second=200.1), "per_second"),
        (GateLimits(burst=2), "burst"),
        (GateLimits(per_second=1.0, burst=0), "burst"),
        (GateLimits(per_second=1.0, burst=10_001), "burst"),
        (GateLimits(per_second=0.0001, burst=260), "burst"),
        (TenantLimits(weight=0), "weight"),
        (TenantLimits(weight=1_001), "weight"),
    ],
)
def test_a_limit_out_of_bounds_is_a_problem_of_its_field(limits: GateLimits, field: str) -> None:
    assert [problem.field for problem in problems(limits)] == [field]


@pytest.mark.parametrize(
    "limits", [GateLimits(), ANY, GateLimits(in_flight=0), GateLimits(per_second=0.0), TenantLimits(in_flight=1_000)]
)
def test_limits_within_bounds_have_no_problem(limits: GateLimits) -> None:
    assert not list(problems(limits))


@pytest.mark.parametrize("limits", [GateLimits(paused=True), GateLimits(in_flight=0), GateLimits(per_second=0.0)])
def test_zero_and_pause_stop(limits: GateLimits) -> None:
    assert limits.is_stopped
    assert not limits.is_empty


def test_no_limit_is_empty() -> None:
    assert GateLimits().is_empty
    assert not ANY.is_empty
    assert not ANY.is_stopped


def test_a_tenant_without_limits_has_weight_one() -> None:
    limits = Limits({"acme": TenantLimits(weight=3)})
    assert (limits.weight("acme"), limits.weight("other")) == (3, 1)
