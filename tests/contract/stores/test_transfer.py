"""The state of a stage, and all that it stores, on both engines in one form."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.access.ports import Principal, Token
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import GateId
from onthedot.core.ids import event_digest, stamped_run_id
from onthedot.core.records import Kind
from onthedot.core.schema import PAYLOADS, blobs_of
from onthedot.engine import Engine
from onthedot.events.ports import PatternEntry
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.state import GateChange, Holder
from onthedot.targets.webhooks import SigningKey
from onthedot.transfer.change_stage import begin_import
from onthedot.transfer.entries import RECORD, Entry, to_json
from onthedot.transfer.export import Selection, export_page
from onthedot.transfer.import_ import Imported, import_page
from onthedot.transfer.kinds import KINDS
from onthedot.transfer.stage_state import StageMode, StageState
from onthedot.transfer.stored_entries import Transfer
from onthedot.workers.records import Resources, WorkerRecord
from tests.builders import World, a_run, a_world
from tests.contract.kits.full_run import a_run_with_every_field
from tests.contract.kits.kit import Kit

FROZEN = StageState(StageMode.FROZEN, "frz_1", 1_000, 2_000, "frz_0")
WHOLE = Selection(history=True, secrets=True)


def engine_of(kit: Kit) -> Engine:
    engine = kit.engine(kit.store(), kit.queues()[0], kit.blobs())
    return replace(engine, transfer=Transfer(kit.stored_entries(), kit.store()))


@pytest.fixture
def world(kit: Kit) -> Iterator[World]:
    """Another stage, at the same time."""
    with a_world() as world:
        world.clock.sleep_until(kit.clock.now())
        yield world


def fill(engine: Engine) -> None:
    """Store something of every kind."""
    now = engine.clock.now()
    run = a_run(engine.clock).called("job_a").due_in(9_000)
    run.having(children=frozenset({"job_b", "job_c"}), gates=("customer:42", "stripe")).stored_in(engine.store)
    stamp = a_run(engine.clock).due_in(9_000).having(kind=Kind.STAMPED, definition=None, job_id="job_a")
    stamp.having(run_id=stamped_run_id("job_a", now)).stored_in(engine.store)
    full = replace(a_run_with_every_field(engine.clock), format=None, expires_at=None)
    assert engine.store.create(full) is None
    engine.blobs.put(f"{blobs_of('acme', PAYLOADS)}x", b"\x00\xff")
    engine.limits.put("acme", TenantLimits(in_flight=3, weight=2))
    engine.gates.put("ac#me:1", "customer", GateLimits(per_second=0.5, put_at=now))
    gate = GateId("ac#me:1", "customer", "4:2")
    engine.gates.change(gate, GateChange(sets={"next_start": (now + 60_000) * 1000}))
    engine.gates.take(gate, 1, Holder("t", "g", now, "job_a"), room=8, newcomer=False, capacity=None)
    engine.signing.replace("acme", (), (SigningKey("whsec_1", now, now + 9),))
    engine.tokens.add("hash-1", Token("tok_1", Principal("acme", "viewer", "ada"), now, now + 99_000_000))
    engine.tokens.add("hash-2", Token("tok_2", Principal("acme", "admin", "bob"), now))
    engine.patterns.put("acme", ["any"], PatternEntry("job_a", "p1", "{}", now))
    engine.patterns.first_time("acme", "event #1:", now, now // 1000 + 3_600)
    load = WorkerRecord("w", "acme", "pull", frozenset({"http"}), Resources(4), now, now, host="h")
    engine.registry.register(load)


def entries_of(engine: Engine) -> dict[tuple[str, str], dict[str, Any]]:
    """All entries of an export, by kind and id."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    cursor: str | None = None
    for _ in range(1_000):
        page = export_page(engine, WHOLE, cursor)
        found |= {(entry.kind, entry.id): dict(entry.content) for entry in page.entries}
        cursor = page.cursor
        if cursor is None:
            return found
    raise AssertionError("the export does not end")


def moved(source: Engine, destination: Engine) -> Imported:
    lines = [to_json(Entry(kind, id_, content)) for (kind, id_), content in entries_of(source).items()]
    begin_import(destination, "f")
    destination.clock.sleep_until(destination.clock.now() + destination.stage.settle_ms)
    return import_page(destination, "f", lines, dry_run=False)


def without_slots(entries: dict[tuple[str, str], dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    changing = {"slot", "status", "revision", "generation", "claim_token", "resends", "woken", "held", "aside_from"}
    changing |= {"aside_since", "aside_why", "attempts", "lease_until", "losses", "reason", "fire_at", "pool"}
    return {key: {n: v for n, v in content.items() if n not in changing} for key, content in entries.items()}


def test_the_state_of_the_stage_is_replaced_if_it_is_the_one_that_was_seen(kit: Kit) -> None:
    stage = kit.stores.stage
    assert stage.fresh() == StageState()
    assert stage.replace(StageState(), FROZEN)
    assert stage.fresh() == FROZEN
    assert not stage.replace(StageState(), StageState(since=5))
    assert stage.replace(FROZEN, StageState(since=5, released="frz_0"))
    assert stage.fresh() == StageState(since=5, released="frz_0")


@pytest.mark.parametrize("text", ['{"mode":"flying"}', "{}", "[", '"x"'])
def test_a_state_of_a_newer_version_or_a_damaged_one_opens_nothing(kit: Kit, text: str) -> None:
    stage = kit.stores.stage
    kit.write_stage(text)
    with pytest.raises(Unavailable):
        stage.fresh()


def test_everything_has_one_form(kit: Kit) -> None:
    engine = engine_of(kit)
    fill(engine)
    found = entries_of(engine)
    now = engine.clock.now()
    kinds = {kind for kind, _ in found}
    assert kinds == {RECORD, *KINDS}, "patterns, workers, holders and progress do not move"
    assert found["limits", "acme"] == {
        "tenant": "acme",
        "limits": '{"in_flight":3,"paused":false,"put_at":0,"weight":2}',
    }
    gate = found["gate", "ac#me:1/customer"]
    assert (gate["tenant"], gate["name"]) == ("ac#me:1", "customer")
    [rate] = [content for (kind, _), content in found.items() if kind == "rate"]
    assert rate["gate"] == "7:ac#me:1#customer:4:2"
    assert rate["next_start"] >= now * 1000
    assert found["event", event_digest("event #1:")]["tenant"] == "acme"
    assert found["signing", "acme"]["tenant"] == "acme"
    assert found["token", "tok_2"]["token_hash"] == "hash-2"
    assert "expires_at" not in found["token", "tok_2"]
    job = found["record", "job_a"]
    assert (sorted(job["children"]), job["gates"]) == (["job_b", "job_c"], '["customer:42","stripe"]')
    assert isinstance(job["fire_at"], int)


def test_the_same_entries_come_from_an_importing_stage(kit: Kit, world: World) -> None:
    engine = engine_of(kit)
    fill(engine)
    imported = moved(engine, world.engine)
    assert imported.refused == []
    assert without_slots(entries_of(world.engine)) == without_slots(entries_of(engine))
    again = moved(engine, world.engine)
    assert (again.created, again.refused) == (0, [])


def test_a_stage_imports_what_the_embedded_engine_has_exported(kit: Kit, world: World) -> None:
    fill(world.engine)
    engine = replace(engine_of(kit), stage=world.stage)
    imported = moved(replace(world.engine, clock=kit.clock), engine)
    assert imported.refused == []
    assert without_slots(entries_of(engine)) == without_slots(entries_of(world.engine))
    assert kit.stores.patterns.first_time("acme", "event #1:", 5, kit.clock.now() // 1000 + 60) > 5
    again = import_page(
        engine,
        "f",
        [to_json(Entry(kind, id_, content)) for (kind, id_), content in entries_of(engine).items()],
        dry_run=True,
    )
    assert again.refused == []


def test_pages_follow_each_other_without_gap_and_overlap(kit: Kit) -> None:
    for number in range(7):
        a_run(kit.clock).called(f"job_{number}").due_in(9_000).stored_in(kit.store())
    kit.stores.limits.put("acme", TenantLimits(in_flight=1))
    entries = kit.stored_entries()
    for limit in (1, 3):
        found: list[str] = []
        cursor: str | None = None
        for _ in itertools.count():
            page = entries.page(limit, cursor)
            assert len(page.items) <= limit
            found += [one.entry.id for one in page.items]
            cursor = page.cursor
            if cursor is None:
                break
        assert sorted(found) == ["acme", *(f"job_{number}" for number in range(7))]


def test_pages_say_how_much_they_have_read_of_about_how_much(kit: Kit) -> None:
    engine = engine_of(kit)
    fill(engine)
    entries = kit.stored_entries()
    page = entries.page(5)
    read, found = page.read, len(page.items)
    while page.cursor is not None:
        page = entries.page(5, page.cursor)
        assert 5 >= page.read >= len(page.items)
        read, found = read + page.read, found + len(page.items)
    assert read >= found > 5
    assert entries.about() == read, "no stage of the tests counts late"


def test_a_page_may_begin_after_any_entry(kit: Kit) -> None:
    for number in range(4):
        kit.stores.limits.put(f"tenant-{number}", TenantLimits(in_flight=1))
    entries = kit.stored_entries()
    whole = entries.page(100).items
    after = entries.page(100, whole[1].position).items
    assert [one.entry.id for one in after] == [one.entry.id for one in whole[2:]]


def test_an_event_is_remembered_once(kit: Kit) -> None:
    later = kit.clock.now() // 1000 + 60
    assert kit.stores.patterns.remember("acme", event_digest("e"), 7, later)
    assert not kit.stores.patterns.remember("acme", event_digest("e"), 8, later)
    assert kit.stores.patterns.first_time("acme", "e", 9, later) == 7
    assert kit.stores.patterns.first_time("other", "e", 9, later) == 9
