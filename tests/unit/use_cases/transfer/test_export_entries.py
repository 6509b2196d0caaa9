"""Pages of an export say how much they have read, and the first one of about how much."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

import pytest

from onthedot.core.errors import Unavailable, Unreachable
from onthedot.engine import Engine
from onthedot.transfer.entries import Entry, StoredEntry
from onthedot.transfer.export import Selection, export_page
from onthedot.transfer.stored_entries import StoredEntries, StoredPage, Transfer
from tests.builders import a_world

GATES = [StoredEntry(Entry("gate", str(n), {"limits": "x" * 100}), f"after {n}") for n in range(10)]


@dataclass
class Stored:
    """A `StoredEntries` of ten gates of 100 bytes among 35 things, on each page."""

    count: int | Unavailable | None = 70
    asked: int = 0

    def page(self, limit: int, cursor: str | None = None) -> StoredPage:
        return StoredPage(GATES, "following", 35)

    def about(self) -> int | None:
        self.asked += 1
        if isinstance(self.count, Unavailable):
            raise self.count
        return self.count


@pytest.fixture
def stored() -> Stored:
    return Stored()


@pytest.fixture
def engine(stored: Stored) -> Iterator[Engine]:
    with a_world() as world:
        yield replace(world.engine, transfer=Transfer(cast(StoredEntries, stored), world.store))


@pytest.mark.parametrize("count", [None, Unavailable("throttled"), Unreachable("denied")])
def test_an_export_goes_on_without_a_total(engine: Engine, stored: Stored, count: Unavailable | None) -> None:
    stored.count = count
    page = export_page(engine, Selection())
    assert (len(page.entries), page.read, page.total) == (10, 35, None)


@pytest.mark.parametrize(("bound", "taken", "read"), [(("MOST_BYTES", 350), 3, 10), (("PAGE_MS", 0), 1, 3)])
def test_a_page_that_ends_early_has_read_a_part(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, bound: tuple[str, int], taken: int, read: int
) -> None:
    monkeypatch.setattr(f"onthedot.transfer.export.{bound[0]}", bound[1])
    page = export_page(engine, Selection())
    assert (len(page.entries), page.cursor) == (taken, f"after {taken - 1}")
    assert (page.read, page.total) == (read, 70)
