"""Slots: the entries of a slot, their order, and entries that left it."""

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.ports import Clock, Moved, RunStore, SlotEntry
from onthedot.core.records import Status
from tests.builders import DEPLOYMENT, a_run, the_claim_of
from tests.contract.kits.kit import PAGE_SIZE

SLOT = "fire#0#29539440"


def read_whole(store: RunStore, slot: str) -> list[SlotEntry]:
    page = store.read_slot(slot)
    entries = list(page.items)
    while page.cursor is not None:
        page = store.read_slot(slot, page.cursor)
        entries += page.items
    return entries


def test_an_empty_slot_is_one_empty_page(store: RunStore) -> None:
    page = store.read_slot(SLOT)

    assert list(page.items) == []
    assert page.cursor is None


def test_an_entry_carries_what_claiming_and_routing_need(store: RunStore, clock: Clock) -> None:
    run = (
        a_run(clock)
        .in_tenant("globex")
        .of_priority(Priority.LOW)
        .having(claim_token="tick/1", pool="gpu")
        .standing(Status.DISPATCHED, SLOT)
        .stored_in(store)
    )

    assert read_whole(store, SLOT) == [
        SlotEntry(
            run_id=run.run_id,
            slot=SLOT,
            fire_at=run.fire_at,
            generation=run.generation,
            tenant="globex",
            priority=Priority.LOW,
            pool="gpu",
            kind=run.kind,
            claim_token="tick/1",
        )
    ]


def test_a_slot_is_read_earliest_first(store: RunStore, clock: Clock) -> None:
    for seconds in (9.5, -3, 120, 10, 9):
        a_run(clock).due_in(seconds).standing(Status.PENDING, SLOT).stored_in(store)

    times = [entry.fire_at - clock.now() for entry in store.read_slot(SLOT).items]

    assert times == sorted(times)
    assert len(times) == 5


def test_a_long_slot_is_read_page_by_page_in_order(store: RunStore, clock: Clock) -> None:
    base = clock.now()
    runs = [
        a_run(clock).having(fire_at=base + number // 2).standing(Status.PENDING, SLOT).stored_in(store)
        for number in range(2 * PAGE_SIZE + 5)
    ]

    first = store.read_slot(SLOT)
    entries = read_whole(store, SLOT)

    assert len(first.items) <= PAGE_SIZE
    assert first.cursor is not None
    assert sorted(entry.run_id for entry in entries) == sorted(run.run_id for run in runs)
    assert [entry.fire_at for entry in entries] == sorted(run.fire_at for run in runs)


def test_what_is_claimed_between_two_pages_makes_the_reader_miss_nothing(store: RunStore, clock: Clock) -> None:
    base = clock.now()
    runs = [
        a_run(clock).having(fire_at=base + number).standing(Status.PENDING, SLOT).stored_in(store)
        for number in range(PAGE_SIZE + 5)
    ]
    first = store.read_slot(SLOT)
    for entry in first.items:
        store.move(lifecycle.delete(next(r for r in runs if r.run_id == entry.run_id), base, "tomb", DEPLOYMENT))

    second = store.read_slot(SLOT, first.cursor)

    assert [entry.run_id for entry in second.items] == [run.run_id for run in runs[len(first.items) :]]


def test_slots_are_apart(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).standing(Status.PENDING, SLOT).stored_in(store)
    a_run(clock).standing(Status.PENDING, f"{SLOT}0").stored_in(store)

    assert [entry.run_id for entry in read_whole(store, SLOT)] == [run.run_id]


def test_a_claimed_run_is_found_in_its_new_slot_only(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).due_in(600).standing(Status.PENDING, SLOT).stored_in(store)
    outcome = store.move(the_claim_of(run, clock))
    assert isinstance(outcome, Moved)
    assert outcome.run is not None
    assert outcome.run.slot is not None

    assert read_whole(store, SLOT) == []
    assert [(entry.run_id, entry.claim_token) for entry in read_whole(store, outcome.run.slot)] == [
        (run.run_id, "tick/1")
    ]


def test_a_run_without_a_slot_has_left_the_index(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).standing(Status.PENDING, SLOT).stored_in(store)

    store.move(lifecycle.delete(run, clock.now(), "tomb", DEPLOYMENT))

    assert read_whole(store, SLOT) == []
