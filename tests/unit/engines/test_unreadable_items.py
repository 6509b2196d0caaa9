"""Limits and workers that cannot be read: the others are read all the same. Fields of a newer version are ignored."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from onthedot import registry_codec
from onthedot.domain.errors import UnreadableRecord
from onthedot.domain.gates.limits import TenantLimits
from onthedot.domain.targets.webhooks import SigningKey
from onthedot.domain.workers.records import Load, Resources, WorkerRecord
from onthedot.engines.aws.dynamodb.items import to_entry, to_item
from onthedot.engines.aws.dynamodb.keys import limits_key, pattern_key, worker_key
from onthedot.engines.aws.dynamodb.limits import DynamoLimitsStore
from onthedot.engines.aws.dynamodb.patterns import DynamoPatternStore
from onthedot.engines.aws.dynamodb.registry import DynamoWorkerRegistry
from onthedot.ports import LimitsStore, WorkerRegistry
from tests.builders import VirtualClock, World, a_run, a_world

LIMITS = {
    "good": '{"in_flight":5,"per_second":null,"weight":2}',
    "newer": '{"in_flight":6,"a_newer_field":1}',
    "torn": '{"in_flight":',
    "other": "[1]",
    "throttled#0": "{",
    "throttled#1": '{"good":"limit in_flight"}',
}
GOOD = {"good": TenantLimits(5, weight=2), "newer": TenantLimits(6)}
ABOUT = {
    "good": '{"tenant":"acme","pool":"pull","capabilities":["http"],"resources":{},"registered_at":1,"host":"h"}',
    "newer": '{"tenant":"acme","pool":"pull","capabilities":[],"resources":{"gpus":1},"registered_at":1,"host":""}',
    "torn": "{",
    "lacks": "{}",
}
LOAD = '{"running":[],"used":{"concurrency":0,"gpus":1},"stopping":false,"stopped":false,"newer":1}'


class OnePage:
    """A client whose query finds these items, two to a page."""

    def __init__(self, items: list[dict[str, Any]]) -> None:
        self._items = items

    def query(self, **request: Any) -> dict[str, Any]:
        start = request.get("ExclusiveStartKey", 0)
        more = {"LastEvaluatedKey": start + 2} if start + 2 < len(self._items) else {}
        return {"Items": self._items[start : start + 2], **more}

    def get_item(self, **request: Any) -> dict[str, Any]:
        found = [item for item in self._items if item.items() >= request["Key"].items()]
        return {"Item": found[0]} if found else {}


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


def sqlite_limits(world: World) -> LimitsStore:
    with world.database.transaction() as connection:
        connection.executemany("INSERT INTO limits VALUES (?, ?)", LIMITS.items())
    return world.limits


def dynamo_limits(_: World) -> LimitsStore:
    items = [
        {**limits_key(name), "throttled": {"S": text}}
        if name.startswith("throttled#")
        else {**limits_key(f"tenant#{name}"), "limits": {"S": text}}
        for name, text in LIMITS.items()
    ]
    return DynamoLimitsStore(OnePage([*items, limits_key("of a newer version")]), "t")  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [sqlite_limits, dynamo_limits])
def test_limits_that_cannot_be_read_stop_nobody(world: World, make: Any) -> None:
    read = make(world).read()
    assert read.tenants == GOOD


def sqlite_registry(world: World) -> WorkerRegistry:
    expiry = world.clock.now() // 1000 + 60
    rows = [(name, about, world.clock.now(), LOAD, expiry) for name, about in ABOUT.items()]
    with world.database.transaction() as connection:
        connection.executemany("INSERT INTO workers VALUES (?, ?, ?, ?, ?)", rows)
    return world.registry


def dynamo_registry(world: World) -> WorkerRegistry:
    rest = {
        "heartbeat_at": {"N": str(world.clock.now())},
        "load": {"S": LOAD},
        "expires_at": {"N": str(world.clock.now() // 1000 + 60)},
    }
    items = [{**worker_key(name), "about": {"S": about}, **rest} for name, about in ABOUT.items()]
    client: Any = OnePage([*items, worker_key("empty")])
    return DynamoWorkerRegistry(client, "t", world.clock)


@pytest.mark.parametrize("make", [sqlite_registry, dynamo_registry])
def test_a_worker_that_cannot_be_read_is_unknown_and_hides_no_other(world: World, make: Any) -> None:
    registry: WorkerRegistry = make(world)
    assert [worker.worker_id for worker in registry.workers()] == ["good", "newer"]
    assert registry.find("torn") is None
    good = registry.find("good")
    assert good == WorkerRecord(
        "good", "acme", "pull", frozenset({"http"}), Resources(), 1, world.clock.now(), Load(), host="h"
    )


def test_a_pattern_entry_without_its_pattern_is_found_and_left_to_the_reader() -> None:
    client: Any = OnePage([pattern_key("acme", "k", "job_a", "n")])
    (entry,) = DynamoPatternStore(client, "t", VirtualClock()).matching("acme", ["k"])
    assert (entry.job_id, entry.pattern) == ("job_a", "")


def test_a_signing_key_with_more_facts_is_read() -> None:
    assert registry_codec.keys_of(json.dumps([["whsec_a", 1, None, "newer"]])) == (SigningKey("whsec_a", 1),)


def test_a_null_is_no_value() -> None:
    item = {**to_item(a_run(VirtualClock()).due_in(600).pending().build()), "generation": {"NULL": True}}
    with pytest.raises(UnreadableRecord, match="generation"):
        to_entry(item)
