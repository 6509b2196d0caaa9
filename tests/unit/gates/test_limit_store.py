"""Stored limits are read as they were written. A value of another type makes them unreadable."""

import pytest

from onthedot.gates.limit_store import DAMAGED, limits_of, limits_text
from onthedot.gates.limits import GateLimits, TenantLimits


def test_limits_of_a_tenant_are_read_as_they_were_written() -> None:
    limits = TenantLimits(2, 0.5, 3, paused=True, put_at=1_000, put_by="alice", weight=4)
    assert limits_of(TenantLimits, limits_text(limits)) == limits


@pytest.mark.parametrize(
    "text", ['{"in_flight": "2"}', '{"in_flight": true}', '{"paused": 1}', '{"put_by": 5}', '{"put_by": true}', "[]"]
)
def test_a_value_of_another_type_is_damage(text: str) -> None:
    with pytest.raises(DAMAGED):
        limits_of(GateLimits, text)
