"""The places of a gate, laid out in pages.

Each page has `PAGE` places, and the last one has the rest. So a larger limit has no less room in any page. `capacity`,
which is stored with page 0, is the limit for which the pages are laid out. None: page 0 has all places.

A limit that is raised is laid out at once. A limit that is lowered may find more holders in a page than the page has
room for now. While one has, only page 0 lets attempts in, as many as all pages leave room for. The other pages can only
lose holders meanwhile, so two attempts that count them at the same time cannot both be wrong.
"""

from collections.abc import Sequence

from onthedot.gates.state import PAGE, GateChange, GateState, Holder


def layout(limit: int) -> int | None:
    """Return the capacity for a limit. None: page 0 has all places."""
    return None if limit <= PAGE else limit


def page_count(limit: int) -> int:
    return max(1, -(-limit // PAGE))


def room(limit: int, page: int) -> int:
    return min(PAGE, max(0, limit - page * PAGE))


def page_of(limit: int, chance: float) -> int:
    """Return a page by chance, from 0 to 1: each place of the gate is as likely."""
    return int(limit * chance) // PAGE


def is_larger(capacity: int | None, limit: int) -> bool:
    """Return whether the pages are laid out for fewer places than the limit has."""
    return limit > PAGE and limit > (capacity or PAGE)


def lay_out(state: GateState, limit: int) -> GateChange:
    return GateChange(equals={"capacity": state.capacity}, sets={"capacity": layout(limit)})


def room_on_first_page(limit: int, pages: Sequence[frozenset[Holder]]) -> int:
    """Return how many holders page 0 may have while some page has more holders than room."""
    return min(limit - sum(len(page) for page in pages[1:]), PAGE)


def fits(limit: int, pages: Sequence[frozenset[Holder]]) -> bool:
    """Return whether no page has more holders than it has room for under the limit."""
    return all(len(holders) <= room(limit, page) for page, holders in enumerate(pages))


def free(limit: int, pages: Sequence[frozenset[Holder]]) -> int:
    """Return how many attempts would get a place now."""
    if fits(limit, pages):
        return limit - sum(len(page) for page in pages)
    return max(0, room_on_first_page(limit, pages) - len(pages[0]))
