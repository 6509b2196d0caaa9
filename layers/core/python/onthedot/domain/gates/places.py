"""The places of a gate, laid out in pages.

Up to `PAGE` places are in page 0. A larger limit is shared out evenly over as many pages as it needs. `capacity`, which
is stored with page 0, is the limit for which the pages are laid out.

A limit that is raised is laid out at once. A limit that is lowered may find more holders in a page than the page has
room for now. Until these have ended, only page 0 lets attempts in, as many as all pages leave room for. The other
pages can only lose holders meanwhile, so two attempts that count them at the same time cannot both be wrong.
"""

from collections.abc import Sequence
from typing import Final

from onthedot.domain.gates.state import PAGE, GateChange, GateState, Holder

MOST_ON_FIRST_PAGE: Final = 64
"""Most holders of page 0 while a lowered limit is laid out."""


def layout(limit: int) -> int | None:
    """Return the capacity for a limit. None: page 0 has all places."""
    return None if limit <= PAGE else limit


def page_count(limit: int) -> int:
    """Return the number of pages for a limit."""
    return max(1, -(-limit // PAGE))


def room(limit: int, page: int) -> int:
    """Return the number of places in a page."""
    pages = page_count(limit)
    return 0 if page >= pages else limit // pages + (page < limit % pages)


def is_larger(capacity: int | None, limit: int) -> bool:
    """Return whether the pages are laid out for fewer places than the limit has."""
    return limit > PAGE and limit > (capacity or PAGE)


def lay_out(state: GateState, limit: int) -> GateChange:
    """Return the change that lays the pages out for a limit."""
    return GateChange(equals={"capacity": state.capacity}, sets={"capacity": layout(limit)})


def room_on_first_page(limit: int, pages: Sequence[frozenset[Holder]]) -> int:
    """Return how many holders page 0 may have while a lowered limit is laid out."""
    return min(limit - sum(len(page) for page in pages[1:]), MOST_ON_FIRST_PAGE)


def fits(limit: int, pages: Sequence[frozenset[Holder]]) -> bool:
    """Return whether no page has more holders than it has room for under the limit."""
    return all(len(holders) <= room(limit, page) for page, holders in enumerate(pages))
