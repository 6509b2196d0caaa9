"""The pools of a stage: what can be added, and that what makes no sense is refused by the field's name."""

import json
from typing import Any

import pytest

from context_values import BadContext
from onthedot.core.choices import LONGEST_PULL
from onthedot.core.pools import DEFAULT_POOLS, PULL_STORAGE_MB, Pool, PoolKind
from onthedot.wiring.workers import aws_factories
from pool_config import AWS_CALLS, TASK_STORAGE_MB, Fargate
from stage_config import StageConfig
from tests.builders import a_world

RENDER: dict[str, Any] = {"name": "render", "capabilities": ["http", "chromium"], "cpu": 2, "memory_mb": 3900}
TASKS: dict[str, Any] = {"cpu": 2048, "memory_mb": 4096}


def config(*pools: dict[str, Any], **context: Any) -> StageConfig:
    return StageConfig.from_context({"stage": "prod", "pools": list(pools), **context})


def test_pools_that_make_aws_calls_are_those_with_a_performer_for_them() -> None:
    """Without its name there, a Fargate pool would promise a target type that its tasks may not perform."""
    with a_world() as world:
        assert set(aws_factories(world.engine, "")) == AWS_CALLS


def test_a_pool_is_added_to_them() -> None:
    added = Pool(
        "render",
        PoolKind.PULL,
        frozenset({"http", "chromium"}),
        cpu=2,
        memory_mb=3900,
        longest_seconds=LONGEST_PULL,
        storage_mb=PULL_STORAGE_MB,
    )
    assert config(RENDER).all_pools == (*DEFAULT_POOLS, added)


def test_the_pull_pool_can_be_changed_and_keeps_what_is_not_said() -> None:
    [_, _, changed] = config({"name": "pull", "memory_mb": 512, "longest_seconds": 60}).all_pools
    [_, _, before] = DEFAULT_POOLS
    assert (changed.memory_mb, changed.longest_seconds) == (512, 60)
    assert (changed.cpu, changed.capabilities) == (before.cpu, before.capabilities)


def test_a_run_may_ask_for_the_storage_that_a_pool_says_or_its_tasks_have() -> None:
    pools = ({"storage_mb": 500}, {"fargate": TASKS}, {"fargate": TASKS, "storage_mb": 0})
    assert [config({**RENDER, **pool}).all_pools[-1].storage_mb for pool in pools] == [500, TASK_STORAGE_MB, 0]


def test_concurrency_can_also_be_given_by_its_old_name() -> None:
    by_name, by_old_name = (config({**RENDER, "fargate": {**TASKS, name: 7}}) for name in ("concurrency", "slots"))
    assert by_name == by_old_name
    assert by_name.pools[-1].fargate == Fargate(**TASKS, concurrency=7)


def test_text_and_typed_values_mean_the_same() -> None:
    pools = [{**RENDER, "fargate": TASKS}]
    assert StageConfig.from_context({"stage": "prod", "pools": json.dumps(pools)}) == config(*pools)


@pytest.mark.parametrize(
    ("field", "pool"),
    [
        ("name: Field required", {"capabilities": ["http"]}),
        ("name: String should match", {**RENDER, "name": "Render"}),
        ("name: runs on Lambda", {**RENDER, "name": "default"}),
        ("storage_mb is 20481, more than the 20480", {**RENDER, "fargate": TASKS, "storage_mb": 20_481}),
        ("speed: Extra inputs are not permitted", {**RENDER, "speed": 1}),
        ("capabilities: list should have at least 1 item", {**RENDER, "capabilities": []}),
        (r"capabilities\[0\]: String should match", {**RENDER, "capabilities": ["a b"]}),
        ("cpu: Input should be greater than or equal to 0.1", {**RENDER, "cpu": 0}),
        ("memory_mb: Input should be a valid integer", {**RENDER, "memory_mb": "100"}),
        ("longest_seconds: Input should be less than or equal to", {**RENDER, "longest_seconds": LONGEST_PULL + 1}),
        ("fargate.cpus: Extra inputs are not permitted", {**RENDER, "fargate": {"cpus": 1}}),
        ("fargate.cpu: must be one of", {**RENDER, "fargate": {**TASKS, "cpu": 1000}}),
        ("fargate: memory_mb must be from 4096", {**RENDER, "fargate": {**TASKS, "memory_mb": 2048}}),
        ("fargate: memory_mb must be a multiple of 1024", {**RENDER, "fargate": {**TASKS, "memory_mb": 4100}}),
        (
            "fargate.max_tasks: Input should be greater than or equal to 1",
            {**RENDER, "fargate": {**TASKS, "max_tasks": 0}},
        ),
        ("cpu is 2, more than the 1 of a task", {**RENDER, "fargate": {"cpu": 1024, "memory_mb": 4096}}),
        ("memory_mb is 4000, more than the 3968", {**RENDER, "memory_mb": 4000, "fargate": TASKS}),
        ("capabilities has shell if", {**RENDER, "fargate": {**TASKS, "shell": True}}),
        ("capabilities has shell if", {**RENDER, "capabilities": ["shell"], "fargate": TASKS}),
        ("capabilities has python if", {**RENDER, "capabilities": ["python"], "fargate": TASKS}),
        ("capabilities has python if", {**RENDER, "fargate": {**TASKS, "app": "shop.jobs"}}),
        ("fargate.app: String should match", {**RENDER, "fargate": {**TASKS, "app": "shop jobs"}}),
        ("fargate.image: must be a directory with", {**RENDER, "fargate": {**TASKS, "image": "no/such/place"}}),
        (
            r"capabilities has \['aws'\], for which",
            {**RENDER, "capabilities": ["shell", "aws"], "fargate": {**TASKS, "shell": True}},
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(field: str, pool: dict[str, Any]) -> None:
    with pytest.raises(BadContext, match=rf"context pools=.*{field}") as refused:
        config(pool)
    assert refused.value.key == "pools"


def test_a_pool_is_not_given_twice() -> None:
    with pytest.raises(BadContext, match="twice"):
        config(RENDER, RENDER)


@pytest.mark.parametrize(("cpu", "memory_mb"), [(256, 512), (256, 2048), (8192, 20_480), (16_384, 122_880)])
def test_every_size_of_fargate_is_accepted(cpu: int, memory_mb: int) -> None:
    small = {**RENDER, "cpu": 0.1, "memory_mb": 100, "fargate": {"cpu": cpu, "memory_mb": memory_mb}}
    assert config(small).pools[-1].fargate == Fargate(cpu=cpu, memory_mb=memory_mb)


def test_the_local_aws_has_no_fargate() -> None:
    with pytest.raises(BadContext, match="the local AWS has no Fargate"):
        config({**RENDER, "fargate": TASKS}, local=True)
