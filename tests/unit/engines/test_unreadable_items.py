"""Items that cannot be read: the others are read anyway. Fields from a newer version are ignored."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.access.signing_store import keys_of
from onthedot.core.errors import UnreadableRecord
from onthedot.core.items import Item, Value
from onthedot.core.schema import Key, limits_key, pattern_key, worker_key
from onthedot.engines.aws.dynamodb.items import DynamoItems
from onthedot.engines.aws.dynamodb.records import to_entry, to_item
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.targets.webhooks import SigningKey
from onthedot.workers.records import Load, Resources, WorkerRecord
from tests.builders import VirtualClock, World, a_run, a_world

LIMITS = {
    "good": '{"in_flight":5,"per_second":null,"weight":2}',
    "newer": '{"in_flight":6,"a_newer_field":1}',
    "torn": '{"in_flight":',
    "other": "[1]",
}
GOOD = {"good": TenantLimits(5, weight=2), "newer": TenantLimits(6)}
DAMAGED = ("", "{", "[]", "7", "{}", '{"limits":7,"about":7,"pattern":7}')
"""The content of a row that no version writes."""
ABOUT = {
    "good": '{"tenant":"acme","pool":"pull","capabilities":["http"],"resources":{},"registered_at":1,"host":"h"}',
    "newer": '{"tenant":"acme","pool":"pull","capabilities":[],"resources":{"gpus":1},"registered_at":1,"host":""}',
    "torn": "{",
    "lacks": "{}",
}
LOAD = '{"running":[],"used":{"concurrency":0,"gpus":1},"stopping":false,"stopped":false,"newer":1}'


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


def damage(world: World, key: Key, content: str) -> None:
    with world.database.transaction() as connection:
        connection.execute("INSERT INTO items (partition, sort, content) VALUES (?, ?, ?)", (*key, content))


def test_limits_that_cannot_be_read_stop_nobody_but_their_tenant(world: World) -> None:
    for tenant, text in LIMITS.items():
        world.items.put(limits_key(tenant), {"limits": text})
    for number, content in enumerate(DAMAGED):
        damage(world, limits_key(f"damaged-{number}"), content)
    # Marks of throttled tenants, which earlier versions stored beside the limits.
    world.items.put(Key("limits", "throttled#0"), {"throttled": "{"})
    assert world.limits.read().tenants == GOOD
    assert world.limits.find("torn") == world.limits.find("damaged-0") == TenantLimits(paused=True)


def test_limits_of_a_gate_that_cannot_be_read_stop_it(world: World) -> None:
    world.gates.put("acme", "good", GateLimits(in_flight=1))
    for number, content in enumerate(DAMAGED):
        damage(world, Key("gates#acme", f"gate#{number}"), content)
    assert world.gates.find("acme", "0") == GateLimits(paused=True)
    names = dict(world.gates.names("acme", 100).items)
    assert names.pop("good") == GateLimits(in_flight=1)
    assert set(names.values()) == {GateLimits(paused=True)}


def test_a_worker_that_cannot_be_read_is_unknown_and_hides_no_other(world: World) -> None:
    now = world.clock.now()
    for name, about in ABOUT.items():
        values: dict[str, Value] = {"about": about, "heartbeat_at": now, "load": LOAD, "expires_at": now // 1000 + 60}
        world.items.put(worker_key(name), values)
    for number, content in enumerate(DAMAGED):
        damage(world, worker_key(f"damaged-{number}"), content)
    assert [worker.worker_id for worker in world.registry.workers()] == ["good", "newer"]
    assert world.registry.find("torn") is None
    good = WorkerRecord("good", "acme", "pull", frozenset({"http"}), Resources(), 1, now, Load(), host="h")
    assert world.registry.find("good") == good


def test_a_pattern_entry_without_its_pattern_is_found_and_left_to_the_reader(world: World) -> None:
    for number, content in enumerate(DAMAGED):
        damage(world, pattern_key("acme", "k", f"job_{number}", "n"), content)
    entries = list(world.patterns.matching("acme", ["k"]))
    assert [(entry.job_id, entry.pattern) for entry in entries] == [(f"job_{n}", "") for n in range(len(DAMAGED))]


def test_counters_that_cannot_be_read_hide_no_others_and_stop_no_run(world: World) -> None:
    minute = world.clock.now() // 60_000
    for number, content in enumerate(('{"M_b0":"x"}', "{", "[]")):
        damage(world, Key("statistics#acme", f"{minute - number:012d}"), content)
    world.items.count(Key("statistics#acme", f"{minute - 1:012d}"), {"M_failed": 2}, {"M_max_ms": 7}, 2**40)
    [found] = world.statistics.read("acme", minute - 9, minute + 1)
    assert (found.minute, found.counters.failed, found.counters.max_ms) == (minute - 1, 2, 7)


def test_attributes_that_no_version_writes_stop_no_read_of_dynamodb() -> None:
    odd: Any = {"a": {"NULL": True}, "b": {"N": "1.5"}, "c": {"BOOL": True}, "d": {"L": [{"N": "1"}]}, "e": {"N": "-7"}}

    class Client:
        def get_item(self, **request: Any) -> Any:
            return {"Item": {**request["Key"], **odd}}

    client: Any = Client()
    found = DynamoItems(client, "t", VirtualClock()).get(Key("p", "s"))
    assert found == Item(Key("p", "s"), {"b": "1.5", "c": "True", "d": "[{'N': '1'}]", "e": -7})


def test_a_signing_key_with_more_facts_is_read() -> None:
    assert keys_of(json.dumps([["whsec_a", 1, None, "newer"]])) == (SigningKey("whsec_a", 1),)


def test_a_null_is_no_value() -> None:
    item = {**to_item(a_run(VirtualClock()).due_in(600).pending().build()), "generation": {"NULL": True}}
    with pytest.raises(UnreadableRecord, match="generation"):
        to_entry(item)
