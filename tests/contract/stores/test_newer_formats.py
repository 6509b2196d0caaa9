"""Items and messages from a newer version: none is lost or changed, and each kind has a defined effect."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onthedot.access.ports import Principal, Token
from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import GateId
from onthedot.core.pass_progress import ShardProgress
from onthedot.core.ports import TickLease
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.shards import ShardHistory
from onthedot.engines.aws.sqs.ticks import read_tick
from onthedot.engines.sqlite.database import FORMAT, Database, NewerFile
from onthedot.events.ports import PatternEntry
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.state import GateChange, Holder
from onthedot.targets.webhooks import SigningKey
from onthedot.workers.records import Load, Resources, WorkerRecord
from tests.contract.kits.kit import MAX_RECEIVES, VISIBILITY_SECONDS, Inbox, Kit
from tests.contract.kits.ministack_kit import Clients, MiniStackKit

GATE = GateId.of("acme", "stripe")


class Table:
    """The table of the aws engine, whose items a newer version has rewritten."""

    def __init__(self, clients: Clients) -> None:
        self.kit = MiniStackKit(clients)
        self._client = clients.dynamodb
        self._name = self.kit._name

    def make_newer(self) -> list[Any]:
        """Give all items a newer format. Return the items."""
        for item in self._items():
            newer = {**item, "format": {"N": "2"}}
            self._client.put_item(TableName=self._name, Item=newer)
        return self._items()

    def assert_unchanged(self, before: list[Any]) -> None:
        assert self._items() == before

    def _items(self) -> list[Any]:
        items: list[Any] = self._client.scan(TableName=self._name)["Items"]
        return sorted(items, key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


@pytest.fixture
def table(ministack: Clients) -> Table:
    return Table(ministack)


def test_a_gate_of_a_newer_version_lets_nothing_in_and_keeps_its_holders(table: Table) -> None:
    gates, clock = table.kit.stores.gates, table.kit.clock
    holder = Holder("t1", "g1", clock.now(), "job_a")
    assert gates.take(GATE, 0, holder, room=8, newcomer=True, capacity=None).done
    before = table.make_newer()
    other = Holder("t2", "g2", clock.now(), "job_b")
    for call in (
        lambda: gates.take(GATE, 0, other, room=8, newcomer=True, capacity=None),
        lambda: gates.give_back(GATE, 0, holder),
        lambda: gates.change(GATE, GateChange(sets={"parts": 2})),
        lambda: gates.read(GATE),
        lambda: gates.pages(GATE),
    ):
        with pytest.raises(Unavailable, match="has format 2, which only a newer version"):
            call()
    table.assert_unchanged(before)


def test_limits_of_a_newer_version_stop_their_gate_or_tenant(table: Table) -> None:
    gates, limits = table.kit.stores.gates, table.kit.stores.limits
    gates.put("acme", "stripe", GateLimits(in_flight=5))
    limits.put("acme", TenantLimits(in_flight=5))
    table.make_newer()
    found, of_tenant = gates.find("acme", "stripe"), limits.find("acme")
    assert found is not None
    assert found.paused
    assert of_tenant is not None
    assert of_tenant.paused
    assert [limits.paused for _, limits in gates.names("acme", 10).items] == [True]
    assert limits.read().tenants == {}


def test_a_tick_leaves_the_progress_of_a_newer_version_to_its_dispatchers(table: Table) -> None:
    progress, now = table.kit.progress(), table.kit.clock.now()
    lease = TickLease((0, 1), "t1", now + 60_000)
    progress.begin(lease, now)
    progress.finish(lease, {}, {0: ShardProgress(1, 1, 1, 1, 1), 1: ShardProgress(1, 1, 1, 1, 1)})
    before = table.make_newer()
    for call in (lambda: progress.begin(TickLease((0, 1), "t2", now), now), lambda: progress.last_ticks([0, 1])):
        with pytest.raises(Unavailable, match="the progress of a shard has format 2"):
            call()
    table.assert_unchanged(before)


def test_no_writer_goes_on_beside_a_newer_number_of_shards(table: Table) -> None:
    shards = table.kit.shards()
    shards.replace(ShardHistory(), ShardHistory().announced(2, 1))
    before = table.make_newer()
    with pytest.raises(Unavailable, match="the number of shards has format 2"):
        shards.read()
    table.assert_unchanged(before)


def test_a_pattern_of_a_newer_version_cannot_be_read_and_stops_no_other(table: Table) -> None:
    patterns = table.kit.stores.patterns
    patterns.put("acme", ["k"], PatternEntry("job_a", "n", "{}", 1))
    table.make_newer()
    patterns.put("acme", ["k"], PatternEntry("job_b", "n", "{}", 1))
    assert {entry.job_id: entry.pattern for entry in patterns.matching("acme", ["k"])} == {"job_a": "", "job_b": "{}"}


def test_a_worker_of_a_newer_version_is_unknown_and_hides_no_other(table: Table) -> None:
    registry, now = table.kit.stores.registry, table.kit.clock.now()

    def worker(worker_id: str) -> WorkerRecord:
        return WorkerRecord(
            worker_id=worker_id,
            tenant="acme",
            pool="pull",
            capabilities=frozenset({"shell"}),
            resources=Resources(1, 1.0, 64),
            registered_at=now,
            heartbeat_at=now,
            load=Load(),
        )

    registry.register(worker("w1"))
    table.make_newer()
    registry.register(worker("w2"))
    assert registry.find("w1") is None
    assert [one.worker_id for one in registry.workers()] == ["w2"]


def test_a_token_of_a_newer_version_lets_no_caller_in(table: Table) -> None:
    tokens, now = table.kit.stores.tokens, table.kit.clock.now()
    tokens.add("hash", Token("tok_1", Principal("acme", "admin", "ada"), now))
    assert tokens.find("hash") is not None
    table.make_newer()
    assert tokens.find("hash") is None
    assert list(tokens.page(10).items) == []


def test_signing_keys_of_a_newer_version_are_waited_for(table: Table) -> None:
    signing = table.kit.stores.signing
    signing.replace("acme", (), [SigningKey("secret", 1, None)])
    before = table.make_newer()
    with pytest.raises(Unavailable, match="the signing key has format 2"):
        signing.keys("acme")
    table.assert_unchanged(before)


def test_a_message_of_a_newer_version_is_given_back_and_becomes_a_dead_letter(
    kit: Kit, let_pass: Callable[[float], None]
) -> None:
    _, inbox = kit.queues()
    newer = '{"format":2,"run":"job_a","run_id":"job_a","generation":"g","fire_at":1,"tenant":"t","priority":"MEDIUM"}'
    inbox.back_door.post(DEFAULT_POOL, Priority.MEDIUM, newer)
    for _ in range(MAX_RECEIVES + 1):
        assert inbox.receive(DEFAULT_POOL, Priority.MEDIUM) == []
        let_pass(VISIBILITY_SECONDS)
    assert _dead(inbox) == 1


def _dead(inbox: Inbox) -> int:
    inbox.receive(DEFAULT_POOL, Priority.MEDIUM)
    return inbox.dead_letters(DEFAULT_POOL, Priority.MEDIUM)


def test_a_tick_of_a_newer_version_is_refused() -> None:
    with pytest.raises(ValueError, match="it has format 2, and this version knows formats up to 1"):
        read_tick('{"format":2,"group":0,"shards":[0],"planned_at":1}', "m", 1)


def test_a_file_of_a_newer_version_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    with Database(path) as database, database.transaction() as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    before = path.read_bytes()
    expected = f"has format {FORMAT + 1}, and this version of onthedot knows formats up to {FORMAT}"
    with pytest.raises(NewerFile, match=expected):
        Database(path)
    assert path.read_bytes() == before
