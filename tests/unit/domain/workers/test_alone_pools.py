"""The pool for a run that must be alone."""

import pytest

from onthedot.core.pools import DEFAULT_POOLS, Pool, PoolKind, Pools


@pytest.mark.parametrize("lacking", [{"longest_seconds": 30}, {"memory_mb": 20}, {"cpu": 0.05}])
def test_a_run_that_must_be_alone_does_not_go_where_it_would_not_fit(lacking: dict[str, float]) -> None:
    default, long = DEFAULT_POOLS[:2]
    whole = {"cpu": default.cpu, "memory_mb": default.memory_mb, "longest_seconds": default.longest_seconds}
    small = Pool("small", PoolKind.PUSH, default.capabilities, **{**whole, **lacking})  # type: ignore[arg-type]
    assert Pools((default, small, long)).alone("default") == "long"
