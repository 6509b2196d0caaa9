"""Children that are hard to notify: very many, out of reach, or unreadable. None of them stops the others."""

from dataclasses import dataclass, field, replace

import pytest

from onthedot.core.errors import OnthedotError, Unavailable, UnreadableRecord
from onthedot.core.moves import Move
from onthedot.core.payloads import load_payload
from onthedot.core.ports import Deadline, Moved, Refused
from onthedot.core.records import Record, Status
from onthedot.core.slots import bucket_of
from onthedot.engine import Engine
from onthedot.jobs import changes
from onthedot.jobs.submit import accept_batch, accept_job
from onthedot.workflows.end import end_graph
from onthedot.workflows.notify import MANY, notify_children
from tests.builders import World
from tests.scenarios.kits.family import BROKEN, Family
from tests.scenarios.kits.faults import Fault, Faults
from tests.scenarios.kits.workflows import DIAMOND, Clan


@dataclass
class HardStore:
    """A store in which every move takes time, and moves of chosen records fail."""

    world: World
    move_s: float = 0
    errors: dict[str, OnthedotError] = field(default_factory=dict)
    moved: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> object:
        return getattr(self.world.store, name)

    def move(self, move: Move) -> Moved | Refused:
        self.moved.append(move.run_id)
        self.world.clock.advance(self.move_s)
        if move.run_id in self.errors:
            raise self.errors[move.run_id]
        return self.world.store.move(move)


def an_ended_parent(family: Family, number: int) -> tuple[Record, list[Record]]:
    """A run that ended and has notified none of its children."""
    parent = family.job(delay_s=3600)
    children = [family.job(parent) for _ in range(number)]
    cancelled = changes.cancel(family.stored(parent), family.world.clock.now(), family.world.engine.deployment)
    assert cancelled is not None
    assert isinstance(family.world.store.move(cancelled), Moved)
    return family.stored(parent), children


def on(world: World, store: HardStore) -> Engine:
    return replace(world.engine, store=store)  # type: ignore[arg-type]


def test_notifying_stops_at_the_deadline_and_the_next_try_goes_on_there(world: World) -> None:
    family = Family(world)
    parent, children = an_ended_parent(family, MANY + 20)
    store = HardStore(world, move_s=0.1)
    assert notify_children(on(world, store), parent, Deadline.after(world.clock.now(), 5_000)) is False
    assert len(store.moved) <= 51, "it looks at the deadline before each child"
    assert family.stored(parent).notify_pending == 1
    first = set(store.moved)
    store.moved.clear()
    assert notify_children(on(world, store), parent, Deadline.after(world.clock.now(), 60_000)) is True
    assert not first & set(store.moved), "it begins with the children that are left"
    assert family.stored(parent).notify_pending is None
    assert {family.status(child) for child in children} == {Status.FAILED}


def test_a_child_that_the_store_cannot_reach_stops_no_other(world: World) -> None:
    family = Family(world)
    parent, children = an_ended_parent(family, 5)
    first = min(child.run_id for child in children)
    store = HardStore(world, errors={first: Unavailable("throttled")})
    with pytest.raises(Unavailable, match="throttled"):
        notify_children(on(world, store), parent)
    assert sorted(family.statuses(children)) == [*[Status.FAILED] * 4, Status.WAITING]
    assert family.stored(parent).notify_pending == 1
    assert family.stored(parent).slot == parent.slot, "the sweep tries again"
    family.let_pass(300)
    family.check_promises([parent, *children])


def test_a_child_that_cannot_be_read_is_tried_again_an_hour_later(world: World) -> None:
    family = Family(world)
    parent, children = an_ended_parent(family, 5)
    first = min(child.run_id for child in children)
    store = HardStore(world, errors={first: OnthedotError("it has format 2")})
    assert notify_children(on(world, store), parent) is True, "nothing is left in this slot"
    assert sorted(family.statuses(children)) == [*[Status.FAILED] * 4, Status.WAITING]
    assert family.stored(parent).slot == f"{str(parent.slot).rpartition('#')[0]}#{bucket_of(world.clock.now()) + 62}"
    family.let_pass(3600 + 300)
    family.check_promises([parent, *children])


def newer(world: World, run_id: str, number: int | None = 99) -> None:
    """Give a record the format of a version that is not there yet, or take it back."""
    with world.database.transaction() as connection:
        connection.execute("UPDATE runs SET format = ? WHERE run_id = ?", (number, run_id))


@pytest.mark.parametrize("succeeds", [True, False])
def test_a_child_of_a_newer_version_is_notified_once_it_can_be_read(world: World, succeeds: bool) -> None:
    family = Family(world)
    parent = family.job(delay_s=5, doomed=not succeeds)
    bad, *good = [family.job(parent) for _ in range(4)]
    newer(world, bad.run_id)
    family.let_pass(60)
    assert set(family.statuses(good)) == {Status.SUCCEEDED if succeeds else Status.FAILED}
    assert family.stored(parent).notify_pending == 1, "it is not forgotten"
    newer(world, bad.run_id, None)
    family.let_pass(2 * 3600)
    family.check_promises([parent, bad, *good])


def test_a_parent_of_a_newer_version_is_not_taken_for_one_that_is_gone(world: World) -> None:
    family = Family(world)
    parent = family.job(delay_s=3600)
    request = family.request(parent, key="child")
    faults = Faults(0, Fault.MEANWHILE, lambda: newer(world, parent.run_id))
    child = accept_job(family.engine(faults), "acme", request, world.clock.now())
    assert (child.status, child.waits_for) == (Status.WAITING, frozenset({parent.run_id}))
    newer(world, parent.run_id, None)
    family.let_pass(3 * 3600)
    family.check_promises([parent, child])


def test_a_child_that_cannot_be_linked_now_is_accepted_and_fails_no_other_job_of_its_batch(world: World) -> None:
    family = Family(world)
    bad, good = family.job(delay_s=600), family.job(delay_s=600)
    store = HardStore(world, errors={bad.run_id: Unavailable("throttled")})
    requests = [family.request(bad), family.request(good), family.request(bad, good)]
    answers = accept_batch(on(world, store), "acme", requests, world.clock.now())
    children = [answer for answer in answers if isinstance(answer, Record)]
    assert len(children) == 3, "they are stored, so each is accepted"
    assert len(family.stored(good).children) == 1
    family.let_pass(1200)
    family.check_promises([bad, good, *children])


@pytest.mark.parametrize("content", [b"[]", b"{", b'{"jobs":[{}]}', b'{"jobs":[{"key":"a","a_newer_field":1}]}'])
def test_a_graph_that_cannot_be_read_keeps_its_run_for_a_version_that_can(world: World, content: bytes) -> None:
    clan = Clan(world)
    clan.refusals = [replace(BROKEN)]
    workflow = clan.workflow(DIAMOND)
    definition = clan.stored(workflow).definition
    assert definition is not None
    good = load_payload(world.engine.blobs, definition)
    blobs = OtherPayload(content)
    run = clan.stored(workflow)
    ended = replace(run, status=Status.FAILED, attempt=1, notify_pending=1)
    engine = replace(world.engine, blobs=blobs)
    with pytest.raises(UnreadableRecord, match="its graph cannot be read"):
        end_graph(engine, with_ref(ended), Status.FAILED, Deadline.after(world.clock.now(), 5_000))
    blobs.content = good
    assert end_graph(engine, with_ref(ended), Status.FAILED, Deadline.after(world.clock.now(), 5_000)).touched == 0


@dataclass
class OtherPayload:
    """Blobs that all have the same content."""

    content: bytes

    def put(self, key: str, content: bytes) -> None: ...

    def get(self, key: str) -> bytes | None:
        return self.content

    def link(self, key: str, seconds: int) -> str | None:
        return None


def with_ref(run: Record) -> Record:
    assert run.definition is not None
    return replace(run, definition=replace(run.definition, payload=None, payload_ref="payloads/x"))
