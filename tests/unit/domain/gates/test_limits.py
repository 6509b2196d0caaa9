"""Limits: what can be kept strictly, what stops, and which change makes them stricter."""

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


@pytest.mark.parametrize(
    ("after", "before", "stricter"),
    [
        (GateLimits(in_flight=4), GateLimits(in_flight=5), True),
        (GateLimits(in_flight=5), GateLimits(in_flight=5), False),
        (GateLimits(in_flight=6), GateLimits(in_flight=5), False),
        (GateLimits(), GateLimits(in_flight=5), False),
        (GateLimits(in_flight=5), GateLimits(), True),
        (GateLimits(in_flight=5), None, True),
        (GateLimits(), None, False),
        (GateLimits(per_second=1.0), GateLimits(per_second=2.0), True),
        (GateLimits(per_second=1.0, burst=1), GateLimits(per_second=1.0, burst=2), True),
        (GateLimits(per_second=1.0, burst=2), GateLimits(per_second=1.0), False),
        (GateLimits(in_flight=9, paused=True), GateLimits(in_flight=5), True),
        (GateLimits(in_flight=5), GateLimits(in_flight=5, paused=True), False),
    ],
)
def test_which_change_is_stricter(after: GateLimits, before: GateLimits | None, stricter: bool) -> None:
    assert after.is_stricter_than(before) is stricter


def test_a_tenant_without_limits_has_weight_one() -> None:
    limits = Limits({"acme": TenantLimits(weight=3)})
    assert (limits.weight("acme"), limits.weight("other")) == (3, 1)
