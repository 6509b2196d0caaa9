"""Graphs as lists of edges: for each position, ascending, the positions of its parents. No keys, no messages."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import islice
from operator import or_

Edges = Sequence[Sequence[int]]


def children_of(parents: Edges) -> list[list[int]]:
    """Return the same edges, read from the other end."""
    children: list[list[int]] = [[] for _ in parents]
    for child, its_parents in enumerate(parents):
        for parent in its_parents:
            children[parent].append(child)
    return children


def parents_first(parents: Edges) -> list[int]:
    """Return the positions, parents before children and otherwise ascending.

    Positions in a cycle and their descendants are left out.
    """
    sorter = TopologicalSorter(dict(enumerate(parents)))
    with suppress(CycleError):  # documented: the sorter still gives all positions that no cycle blocks
        sorter.prepare()
    # graphlib gives the ready positions in any order. The heap makes the order deterministic.
    ready = list(sorter.get_ready())
    heapify(ready)
    found = []
    while ready:
        found.append(position := heappop(ready))
        sorter.done(position)
        for following in sorter.get_ready():
            heappush(ready, following)
    return found


def shortest_cycles(parents: Edges) -> list[list[int]]:
    """Return the shortest cycle of each tangle. A tangle is a set of positions that all wait for each other.

    A cycle leads from child to parent and begins with its lowest position. Of several shortest cycles it is one whose
    first position is lowest. graphlib reports one cycle of any length, and a person needs the shortest. Without cycles
    this costs no more than `parents_first`. With cycles, the search begins at each position in them. A set of positions
    is an int with a bit for each position, because a dense graph would take seconds otherwise.
    """
    children = children_of(parents)
    left = sorted(set(range(len(parents))) - set(parents_first(parents)) - set(parents_first(children)))
    up, down = ({position: _bits(edges[position]) for position in left} for edges in (parents, children))
    among, seen, found = _bits(left), 0, []
    for start in left:
        tangle = _union(_rings(start, up, among)) & _union(_rings(start, down, among)) if not _has(seen, start) else 0
        seen |= tangle
        if tangle:
            found.append(_shortest(tangle, up))
    return found


def _shortest(tangle: int, up: Mapping[int, int]) -> list[int]:
    best: list[int] = []
    for start in _positions(tangle):
        # The search from a lower position has found the cycles through it.
        among = tangle >> start << start
        best = _cycle_from(start, up, among, shorter_than=len(best) or among.bit_count() + 1) or best
    return best


def _cycle_from(start: int, up: Mapping[int, int], among: int, shorter_than: int) -> list[int]:
    """Return the shortest cycle through this position, or an empty list if there is none that is so short."""
    rings: list[int] = []
    for ring in islice(_rings(start, up, among), shorter_than - 1):
        if _has(ring, start):
            # Follow the cycle from its end: from each ring take the lowest position that has an edge to the position
            # after it.
            back = [start]
            for before in reversed(rings):
                back.append(next(position for position in _positions(before) if _has(up[position], back[-1])))
            return [start, *back[:0:-1]]
        rings.append(ring)
    return []


def _rings(start: int, edges: Mapping[int, int], among: int) -> Iterator[int]:
    """Yield the positions that can be reached in one step, then the positions that need two steps, and so on."""
    ring = seen = edges[start] & among
    while ring:
        yield ring
        ring = _union(edges[position] for position in _positions(ring)) & among & ~seen
        seen |= ring


def _bits(positions: Iterable[int]) -> int:
    return _union(1 << position for position in positions)


def _union(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)


def _has(bits: int, position: int) -> bool:
    return bool(bits >> position & 1)


def _positions(bits: int) -> Iterator[int]:
    """Yield the members of a set, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
