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


def test_an_ordinary_callback_goes_to_the_default_pool() -> None:
    assert chosen(http()) == "default"


def test_what_may_take_longer_than_a_minute_does_not_share_a_batch() -> None:
    assert chosen(http(61)) == "long"
    assert chosen(http(840)) == "long"


def test_what_outlasts_a_function_needs_a_pull_worker() -> None:
    assert chosen(http(841)) == "pull"
    assert lacking(http(100_000)) == ["timeout_seconds"]


def test_what_asks_for_much_gets_the_smallest_that_has_it() -> None:
    assert chosen(http(memory_mb=300)) == "long"
    assert chosen(http(memory_mb=1_000)) == "pull"
    assert chosen(http(cpu=2)) == "pull"


def test_what_no_pool_has_is_named() -> None:
    assert lacking(http(memory_mb=1_000_000)) == ["requirements.memory_mb"]
    assert lacking(http(cpu=64)) == ["requirements.cpu"]
    assert lacking(http(capabilities=("gpu",))) == ["requirements.capabilities"]


def test_a_shell_job_goes_to_a_pool_that_offers_it() -> None:
    assert chosen(needs_of(ShellTarget(("true",)), Requirements(), 60)) == "pull"


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


def test_pools_survive_the_environment() -> None:
    assert pools_from_text(pools_to_text(DEFAULT_POOLS)) == POOLS


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


@pytest.mark.parametrize("storage_mb", [0, 50_000])
def test_a_pool_keeps_its_storage_in_its_text(storage_mb: int) -> None:
    pool = Pool("gpu", PoolKind.PULL, frozenset({"http"}), 1, 512, 60, storage_mb=storage_mb)
    assert pools_from_text(pools_to_text([pool])).all == (pool,)


def test_a_run_that_asks_for_storage_goes_to_a_pool_that_has_some() -> None:
    assert chosen(http(storage_mb=1)) == "pull"
    assert lacking(http(storage_mb=1_000_001)) == ["requirements.storage_mb"]


def test_a_pool_keeps_the_exact_fraction_of_a_cpu_in_its_text() -> None:
    pool = Pool("gpu", PoolKind.PULL, frozenset({"python:render", "a.b"}), 0.123456789, 512, 60)
    assert pools_from_text(pools_to_text([pool])).all == (pool,)
