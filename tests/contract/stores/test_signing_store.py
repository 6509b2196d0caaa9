"""The keys that sign the calls of tenants: read as written, replaced only by a caller that has seen the stored ones."""

import threading

import pytest

from onthedot.access.signing_store import SigningStore
from onthedot.core.ports import Clock
from onthedot.targets.webhooks import SigningKey, fresh_key, rotated

pytestmark = pytest.mark.on_items


def test_there_are_no_keys_before_the_first_use(signing: SigningStore) -> None:
    assert tuple(signing.keys("acme")) == ()


def test_keys_come_back_as_written_the_newest_first(signing: SigningStore) -> None:
    keys = (SigningKey("whsec_new=", 2000), SigningKey("whsec_old+/", 1000, 90_000))

    assert signing.replace("acme", (), keys) is True

    assert tuple(signing.keys("acme")) == keys


def test_tenants_are_apart(signing: SigningStore, clock: Clock) -> None:
    ours, theirs = (fresh_key(clock.now()),), (fresh_key(clock.now()),)
    signing.replace("acme", (), ours)
    signing.replace("tenant/ü#1", (), theirs)

    assert tuple(signing.keys("acme")) == ours
    assert tuple(signing.keys("tenant/ü#1")) == theirs


def test_keys_are_rotated_by_who_has_seen_the_present_ones(signing: SigningStore, clock: Clock) -> None:
    signing.replace("acme", (), (fresh_key(clock.now()),))
    seen = signing.keys("acme")
    keys = rotated(seen, clock.now(), 60_000)

    assert signing.replace("acme", seen, keys) is True

    assert tuple(signing.keys("acme")) == keys


def test_who_has_seen_nothing_does_not_replace_keys(signing: SigningStore, clock: Clock) -> None:
    standing = (fresh_key(clock.now()),)
    signing.replace("acme", (), standing)

    assert signing.replace("acme", (), (fresh_key(clock.now()),)) is False

    assert tuple(signing.keys("acme")) == standing


def test_who_has_seen_old_keys_does_not_replace_newer_ones(signing: SigningStore, clock: Clock) -> None:
    first = (fresh_key(clock.now()),)
    signing.replace("acme", (), first)
    second = rotated(first, clock.now(), 60_000)
    signing.replace("acme", first, second)

    assert signing.replace("acme", first, rotated(first, clock.now(), 60_000)) is False

    assert tuple(signing.keys("acme")) == second


def test_keys_of_nobody_cannot_be_replaced_by_who_claims_to_have_seen_some(signing: SigningStore, clock: Clock) -> None:
    assert signing.replace("acme", (fresh_key(clock.now()),), (fresh_key(clock.now()),)) is False

    assert tuple(signing.keys("acme")) == ()


def test_a_write_whose_reply_was_lost_is_known_as_our_own(signing: SigningStore, clock: Clock) -> None:
    """The client then writes again, and is refused by what it wrote itself."""
    keys = (fresh_key(clock.now()),)
    signing.replace("acme", (), keys)

    assert signing.replace("acme", (), keys) is True
    assert tuple(signing.keys("acme")) == keys


def test_of_many_who_make_the_first_key_one_is_faster(signing: SigningStore, clock: Clock) -> None:
    made = [(fresh_key(clock.now()),) for _ in range(8)]
    together = threading.Barrier(len(made))
    won: list[tuple[SigningKey, ...]] = []

    def make(keys: tuple[SigningKey, ...]) -> None:
        together.wait()
        if signing.replace("acme", (), keys):
            won.append(keys)

    threads = [threading.Thread(target=make, args=(keys,)) for keys in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert won == [tuple(signing.keys("acme"))]
