"""Items: one meaning of reads, conditions, changes and expiry on all engines."""

import threading
from collections.abc import Callable

import pytest

from onthedot.core.items import (
    MISSING,
    PRESENT,
    AnyOf,
    Change,
    Check,
    Item,
    Items,
    Update,
    Value,
    above,
    absent,
    applied,
    below,
    contains,
    equals,
    exists,
    fewer,
    whole,
)
from onthedot.core.ports import Clock
from onthedot.core.schema import Key, run_key
from tests.builders import a_run
from tests.contract.kits.kit import PAGE_SIZE, Kit

KEY = Key("p#1", "s")
ONE: dict[str, Value] = {"text": "grüße 🎉", "number": -5, "set": frozenset({"a", "b"})}
BOTH = ("a", "b")


@pytest.fixture
def items(kit: Kit) -> Items:
    return kit.items()


def values_of(items: Items, key: Key = KEY) -> dict[str, Value] | None:
    item = items.get(key)
    return None if item is None else dict(item.values)


def test_an_item_is_read_as_it_was_put(items: Items) -> None:
    assert items.get(KEY) is None
    assert items.put(KEY, ONE) == (True, Item(KEY, ONE))
    assert items.get(KEY) == Item(KEY, ONE)
    assert items.get(Key("p#1", "t")) is None
    items.put(KEY, {"other": 2**53})
    assert values_of(items) == {"other": 2**53}


def test_a_deleted_item_is_gone_and_may_be_deleted_again(items: Items) -> None:
    items.put(KEY, ONE)
    for _ in range(2):
        items.delete(KEY)
        assert items.get(KEY) is None


HOLD: dict[str, tuple[Check | AnyOf, bool]] = {
    "present": (PRESENT, True),
    "missing": (MISSING, False),
    "exists": (exists("text"), True),
    "exists another": (exists("none"), False),
    "absent": (absent("none"), True),
    "absent another": (absent("set"), False),
    "equals a text": (equals("text", "grüße 🎉"), True),
    "equals another text": (equals("text", "grüße"), False),
    "equals a number": (equals("number", -5), True),
    "equals a set": (equals("set", frozenset({"b", "a"})), True),
    "equals nothing": (equals("none", None), True),
    "equals the text of a number": (equals("number", "-5"), False),
    "equals an absent value": (equals("none", "x"), False),
    "below": (below("number", -4), True),
    "below itself": (below("number", -5), False),
    "below, as a text": (below("text", "h"), True),
    "below an absent value": (below("none", 9), False),
    "below another type": (below("number", "9"), False),
    "above": (above("number", -6), True),
    "above itself": (above("number", -5), False),
    "above an absent value": (above("none", -9), False),
    "fewer": (fewer("set", 3), True),
    "not fewer": (fewer("set", 2), False),
    "fewer than nothing": (fewer("none", 1), True),
    "contains": (contains("set", "a"), True),
    "does not contain": (contains("set", "c"), False),
    "contains in nothing": (contains("none", "a"), False),
    "one of two": (absent("text") | equals("number", -5), True),
    "one of three": (absent("text") | contains("set", "c") | fewer("none", 1), True),
    "none of two": (absent("text") | equals("number", 5), False),
}


@pytest.mark.parametrize("name", HOLD)
def test_a_condition_decides_about_an_update_and_a_put(items: Items, name: str) -> None:
    check, holds = HOLD[name]
    items.put(KEY, ONE)
    assert items.update(KEY, Change(sets={"new": 1}), [check]) == (
        holds,
        Item(KEY, {**ONE, "new": 1} if holds else ONE),
    )
    items.put(KEY, ONE)
    done, item = items.put(KEY, {"new": 1}, [exists("text"), check])
    assert (done, item) == (holds, Item(KEY, {"new": 1} if holds else ONE))
    assert values_of(items) == ({"new": 1} if holds else ONE)


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        (MISSING, True),
        (PRESENT, False),
        (absent("a"), True),
        (exists("a"), False),
        (equals("a", None), True),
        (fewer("a", 1), True),
        (below("a", 1), False),
        (contains("a", "x"), False),
    ],
)
def test_a_condition_decides_about_an_item_that_is_not_there(items: Items, check: Check, holds: bool) -> None:
    made = Item(KEY, {"new": 1}) if holds else None
    assert items.update(KEY, Change(sets={"new": 1}), [check]) == (holds, made)
    assert items.get(KEY) == made
    items.delete(KEY)
    assert items.put(KEY, {"new": 1}, [check]) == (holds, made)


def test_all_checks_of_a_condition_must_hold(items: Items) -> None:
    items.put(KEY, ONE)
    condition: list[Check | AnyOf] = [exists("text"), absent("x") | absent("text"), equals("number", 5)]
    assert not items.update(KEY, Change(sets={"new": 1}), condition).done
    assert values_of(items) == ONE


CHANGES: dict[str, tuple[Change, dict[str, Value]]] = {
    "set": (Change(sets={"text": "x", "new": 7}), {**ONE, "text": "x", "new": 7}),
    "set a set": (Change(sets={"set": frozenset({"z"})}), {**ONE, "set": frozenset({"z"})}),
    "remove": (Change(sets={"text": None, "none": None}), {"number": -5, "set": frozenset(BOTH)}),
    "count": (Change(adds={"number": 7, "new": 2}), {**ONE, "number": 2, "new": 2}),
    "add to sets": (
        Change(adds={"set": frozenset({"b", "c"}), "new": frozenset({"x"})}),
        {**ONE, "set": frozenset({"a", "b", "c"}), "new": frozenset({"x"})},
    ),
    "take from sets": (
        Change(takes={"set": frozenset({"b", "z"}), "none": frozenset({"x"})}),
        {**ONE, "set": frozenset({"a"})},
    ),
    "take the last ones": (Change(takes={"set": frozenset(BOTH)}), {"text": ONE["text"], "number": -5}),
    "all at once": (
        Change(sets={"text": None, "to": "y"}, adds={"number": 1}, takes={"set": frozenset({"a"})}),
        {"to": "y", "number": -4, "set": frozenset({"b"})},
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_has_one_meaning(items: Items, name: str) -> None:
    change, expected = CHANGES[name]
    items.put(KEY, ONE)
    assert items.update(KEY, change) == (True, Item(KEY, expected))
    assert values_of(items) == expected


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_makes_an_item_that_is_not_there(items: Items, name: str) -> None:
    change, _ = CHANGES[name]
    expected = applied(change, {})
    items.update(KEY, change)
    assert (values_of(items) or {}) == expected


def test_concurrent_changes_lose_nothing(items: Items) -> None:
    def work(name: str) -> None:
        for number in range(10):
            items.update(KEY, Change(adds={"n": 1, "names": frozenset({f"{name}{number}"})}))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    item = items.get(KEY)
    assert item is not None
    assert item.number("n") == 30
    assert len(item.texts("names")) == 30


def test_one_of_many_writers_replaces_what_all_have_seen(items: Items) -> None:
    items.put(KEY, {"text": "seen"})
    together, done = threading.Barrier(4), []

    def work(name: str) -> None:
        together.wait()
        done.append(items.update(KEY, Change(sets={"text": name}), [equals("text", "seen")]))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won = [written for written in done if written.done]
    assert len(won) == 1
    assert all(written.item == items.get(KEY) for written in done), "the others get the item that refuses them"


def fill(items: Items, partition: str, sorts: list[str]) -> None:
    for sort in sorts:
        items.put(Key(partition, sort), {"of": sort})


def test_a_partition_is_read_in_order_page_by_page(items: Items) -> None:
    sorts = [f"{number:03}" for number in range(2 * PAGE_SIZE + 1)]
    fill(items, "p", sorts[::-1])
    fill(items, "p2", ["a"])
    pages: list[list[str]] = []
    after: str | None = None
    while after is not None or not pages:
        page = items.query("p", after=after, limit=5)
        assert len(page.items) <= 5
        pages.append([item.key.sort for item in page.items])
        after = page.cursor
    assert [sort for page in pages for sort in page] == sorts
    assert [item.text("of") for item in whole(items.query, "p")] == sorts
    assert list(whole(items.query, "none")) == []


def test_a_part_of_a_partition_is_chosen_by_the_sort_key(items: Items) -> None:
    fill(items, "p", ["a", "b#", "b#1", "b#2", "b$", "c", "d"])
    assert [item.key.sort for item in whole(items.query, "p", begins="b#")] == ["b#", "b#1", "b#2"]
    assert [item.key.sort for item in whole(items.query, "p", begins="b#", limit=1)] == ["b#", "b#1", "b#2"]
    assert [item.key.sort for item in whole(items.query, "p", span=("b#2", "c"))] == ["b#2", "b$", "c"]
    assert [item.key.sort for item in whole(items.query, "p", span=("b#2", "c"), limit=2)] == ["b#2", "b$", "c"]
    assert [item.key.sort for item in items.query("p", after="c").items] == ["d"]


def test_a_cursor_holds_while_items_come_and_go(items: Items) -> None:
    fill(items, "p", ["b", "d", "f"])
    page = items.query("p", limit=2)
    items.delete(Key("p", "d"))
    fill(items, "p", ["a", "e"])
    assert [item.key.sort for item in items.query("p", after=page.cursor).items] == ["e", "f"]


def test_many_items_are_written_read_and_deleted_at_once(items: Items) -> None:
    wanted = [Item(Key(f"p{number % 3}", f"{number:03}"), {"n": number}) for number in range(120)]
    items.put_many(wanted)
    keys = [item.key for item in wanted]
    assert sorted(items.get_many([*keys, Key("none", "x")])) == sorted(wanted)
    items.delete_many([*keys[1:], Key("none", "x")])
    assert items.get_many(keys, may_lag=True) == wanted[:1]


def test_many_updates_are_each_done_or_refused_on_their_own(items: Items) -> None:
    keys = [Key(f"p{number}", "s") for number in range(30)]
    for number, key in enumerate(keys):
        items.put(key, {"n": number % 2, "gone": "x"})
    change = Change(sets={"text": 'it\'s "new"', "gone": None})
    updates = [Update(key, change, [equals("n", 1), absent("text")]) for key in keys]
    assert items.update_many(updates) == [number % 2 == 1 for number in range(30)]
    assert not any(items.update_many(updates)), "again"
    assert values_of(items, keys[0]) == {"n": 0, "gone": "x"}
    assert values_of(items, keys[1]) == {"n": 1, "text": 'it\'s "new"'}
    assert items.update_many([]) == []


def test_everything_is_scanned_page_by_page_with_the_records_of_runs(kit: Kit, items: Items, clock: Clock) -> None:
    runs = [a_run(clock).called(f"job_{number}").due_in(600).stored_in(kit.store()) for number in range(7)]
    fill(items, "p#1", [f"{number}" for number in range(9)])
    found: list[Item] = []
    after: Key | None = None
    pages = 0
    while after is not None or not pages:
        page = items.scan(4, after, only=["of", "tenant"])
        assert len(page.items) <= 4
        found += page.items
        after, pages = page.last, pages + 1
    assert len(found) == 16
    assert {item.key for item in found if item.values.get("tenant") == "acme"} == {run_key(run.run_id) for run in runs}
    assert {item.values["of"] for item in found if item.key.partition == "p#1"} == {f"{number}" for number in range(9)}
    for item in found:
        rest = items.scan(100, item.key, only=["of"])
        assert [one.key for one in rest.items] == [one.key for one in found[found.index(item) + 1 :]]
    assert items.about() == 16


def test_a_run_is_deleted_by_its_key(kit: Kit, items: Items, clock: Clock) -> None:
    run = a_run(clock).due_in(600).stored_in(kit.store())
    other = a_run(clock).due_in(600).stored_in(kit.store())
    items.delete_many([run_key(run.run_id)])
    assert kit.store().get(run.run_id) is None
    assert kit.store().get(other.run_id) is not None


@pytest.fixture
def expired(items: Items, clock: Clock, let_pass: Callable[[float], None]) -> Items:
    """Items of which one has expired a moment ago."""
    items.put(KEY, {**ONE, "expires_at": clock.now() // 1000 + 2})
    assert items.get(KEY) is not None
    let_pass(2)
    return items


def test_an_item_that_has_expired_is_neither_found_nor_listed(expired: Items) -> None:
    assert expired.get(KEY) is None
    assert expired.get_many([KEY]) == []
    assert expired.query(KEY.partition).items == []


def test_an_item_that_has_expired_meets_conditions_as_if_it_were_not_there(expired: Items, clock: Clock) -> None:
    later = clock.now() // 1000 + 60
    change = Change(sets={"new": 1, "expires_at": later})
    for check in (PRESENT, exists("text"), equals("number", -5)):
        assert expired.update(KEY, change, [check]) == (False, None)
    assert expired.update(KEY, Change(sets={"new": 1}), [PRESENT]) == (False, None)
    assert expired.put(KEY, {"new": 1}, [PRESENT]) == (False, None)
    assert expired.put(KEY, {"new": 1, "expires_at": later}, [MISSING]).done
    assert values_of(expired) == {"new": 1, "expires_at": later}


@pytest.mark.parametrize("condition", [[], [absent("text"), absent("set") | exists("number")]])
def test_a_change_of_an_item_that_has_expired_begins_anew(
    expired: Items, clock: Clock, condition: list[Check | AnyOf]
) -> None:
    later = clock.now() // 1000 + 60
    change = Change(
        sets={"expires_at": later, "x": None}, adds={"number": 2, "set": frozenset({"z"})}, takes={"y": frozenset("q")}
    )
    expected: dict[str, Value] = {"expires_at": later, "number": 2, "set": frozenset({"z"})}
    assert expired.update(KEY, change, condition) == (True, Item(KEY, expected))
    assert values_of(expired) == expected


def test_an_item_lives_until_its_expiry_and_longer_with_a_later_one(
    items: Items, clock: Clock, let_pass: Callable[[float], None]
) -> None:
    items.put(KEY, {"n": 1, "expires_at": clock.now() // 1000 + 2})
    done, _ = items.update(KEY, Change(sets={"expires_at": clock.now() // 1000 + 60}, adds={"n": 1}), [exists("n")])
    assert done
    let_pass(2)
    item = items.get(KEY)
    assert item is not None
    assert item.number("n") == 2
    assert items.query(KEY.partition).items == [item]
