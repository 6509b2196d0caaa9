"""The smallest pool that fits, and the problems when none does."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.choices import Requirements
from onthedot.core.errors import Problem
from onthedot.core.pools import (
    DEFAULT_POOLS,
    Needs,
    Pool,
    PoolKind,
    Pools,
    missing,
    needs_of,
    pools_from_text,
    pools_to_text,
    worker_needs,
)
from onthedot.targets.types import HttpTarget, PythonTarget, ShellTarget

POOLS = Pools()
HTTP = HttpTarget("https://example.com")


def chosen(needs: Needs, **offered: frozenset[str]) -> str:
    pool = POOLS.choose(needs, offered)
    assert isinstance(pool, Pool), pool
    return pool.name


def lacking(needs: Needs) -> list[str]:
    missed = POOLS.choose(needs)
    assert not isinstance(missed, Pool), missed
    return [lack.field for lack in missed]


def http(seconds: int = 60, **asked: object) -> Needs:
    return needs_of(HTTP, Requirements(**asked), seconds)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("needs", "pool"),
    [
        (http(60), "default"),
        (http(61), "long"),
        (http(840), "long"),
        (http(841), "pull"),
        (http(memory_mb=300), "long"),
        (http(memory_mb=1_000), "pull"),
        (http(cpu=2), "pull"),
        (http(storage_mb=1), "pull"),
        (needs_of(ShellTarget(("true",)), Requirements(), 60), "pull"),
    ],
)
def test_a_run_goes_to_the_smallest_pool_that_has_what_it_needs(needs: Needs, pool: str) -> None:
    assert chosen(needs) == pool


@pytest.mark.parametrize(
    ("needs", "field"),
    [
        (http(100_000), "timeout_seconds"),
        (http(memory_mb=1_000_000), "requirements.memory_mb"),
        (http(storage_mb=1_000_001), "requirements.storage_mb"),
        (http(cpu=64), "requirements.cpu"),
        (http(capabilities=("gpu",)), "requirements.capabilities"),
    ],
)
def test_what_no_pool_has_is_named(needs: Needs, field: str) -> None:
    assert lacking(needs) == [field]


def test_live_workers_may_offer_more_than_their_pool_promises() -> None:
    assert chosen(http(capabilities=("gpu",)), pull=frozenset({"gpu"})) == "pull"


def test_one_worker_must_know_the_very_handler() -> None:
    target = PythonTarget("send-email")
    assert "python:send-email" not in needs_of(target, Requirements(), 60).capabilities
    assert "python:send-email" in worker_needs(target, Requirements(), 60).capabilities


def test_a_run_that_lost_its_worker_goes_where_it_runs_alone() -> None:
    assert [POOLS.alone(name) for name in ("default", "long", "pull", "gone")] == ["long", "long", "pull", "gone"]


def test_without_a_pool_for_one_at_a_time_it_stays() -> None:
    assert Pools(DEFAULT_POOLS[:1]).alone("default") == "default"


@pytest.mark.parametrize("lacking", [{"longest_seconds": 30}, {"memory_mb": 20}, {"cpu": 0.05}])
def test_a_run_that_must_be_alone_does_not_go_where_it_would_not_fit(lacking: dict[str, float]) -> None:
    default, long = DEFAULT_POOLS[:2]
    whole = {"cpu": default.cpu, "memory_mb": default.memory_mb, "longest_seconds": default.longest_seconds}
    small = Pool("small", PoolKind.PUSH, default.capabilities, **{**whole, **lacking})  # type: ignore[arg-type]
    assert Pools((default, small, long)).alone("default") == "long"


@pytest.mark.parametrize(
    "pools",
    [
        DEFAULT_POOLS,
        (Pool("gpu", PoolKind.PULL, frozenset({"python:render", "a.b"}), 0.123456789, 512, 60, storage_mb=50_000),),
    ],
)
def test_pools_survive_the_environment(pools: tuple[Pool, ...]) -> None:
    assert pools_from_text(pools_to_text(pools)).all == pools


a_pool = st.builds(
    Pool,
    name=st.uuids().map(str),
    kind=st.sampled_from(PoolKind),
    capabilities=st.frozensets(st.sampled_from(["http", "gpu", "shell"])),
    cpu=st.integers(0, 4),
    memory_mb=st.integers(0, 4),
    storage_mb=st.integers(0, 4),
    longest_seconds=st.integers(1, 4),
)
some_needs = st.builds(
    Needs,
    capabilities=st.frozensets(st.sampled_from(["http", "gpu", "shell"])),
    cpu=st.integers(0, 5),
    memory_mb=st.integers(0, 5),
    storage_mb=st.integers(0, 5),
    seconds=st.integers(1, 5),
)


@given(st.lists(a_pool, min_size=1, max_size=5), some_needs)
def test_the_choice_fits_and_nothing_smaller_does(pools: Sequence[Pool], needs: Needs) -> None:
    choice = Pools(tuple(pools)).choose(needs)
    fitting = [pool for pool in pools if not missing(pool, needs)]
    if isinstance(choice, Pool):
        assert choice in fitting
        assert all(choice.size <= pool.size for pool in fitting)
    else:
        assert not fitting
        assert choice
        assert all(isinstance(lack, Problem) for lack in choice)


@pytest.mark.parametrize(
    "text", ["", "gpu", "gpu/pull/http/4/8192/60/1", "gpu/pull/http/4/8192/60/1/3/9/9", "a/b/c/1/1/1/1/1"]
)
def test_a_text_that_is_no_pool_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        pools_from_text([text])
