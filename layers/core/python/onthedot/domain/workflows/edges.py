"""Graphs as lists of edges: for each position, ascending, the positions of its parents. No keys, no messages."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from heapq import heappop, heappush
from itertools import islice
from operator import or_

Edges = Sequence[Sequence[int]]


def children_of(parents: Edges) -> list[list[int]]:
    """The same edges, read from the other end."""
    children: list[list[int]] = [[] for _ in parents]
    for child, its_parents in enumerate(parents):
        for parent in its_parents:
            children[parent].append(child)
    return children


def parents_first(parents: Edges) -> list[int]:
    """The positions, parents before children and otherwise ascending; without those in a cycle or behind one."""
    children, missing = children_of(parents), [len(its_parents) for its_parents in parents]
    # Ascending, and so a heap already.
    ready = [position for position, count in enumerate(missing) if not count]
    found = []
    while ready:
        found.append(position := heappop(ready))
        for child in children[position]:
            missing[child] -= 1
            if not missing[child]:
                heappush(ready, child)
    return found


def shortest_cycles(parents: Edges) -> list[list[int]]:
    """For each tangle, which is a set of positions that all wait for each other, its shortest cycle.

    A cycle leads from child to parent and begins with its lowest position; of equally short ones it is one that begins
    lowest. Without cycles this costs no more than `parents_first`. With some, each position in them is searched from:
    there a set of positions is an int, a bit for each, or a dense graph would take seconds.
    """
    children = children_of(parents)
    left = sorted(set(range(len(parents))) - set(parents_first(parents)) - set(parents_first(children)))
    up, down = ({position: _bits(edges[position]) for position in left} for edges in (parents, children))
    among, told, found = _bits(left), 0, []
    for start in left:
        tangle = _union(_rings(start, up, among)) & _union(_rings(start, down, among)) if not _has(told, start) else 0
        told |= tangle
        if tangle:
            found.append(_shortest(tangle, up))
    return found


def _shortest(tangle: int, up: Mapping[int, int]) -> list[int]:
    best: list[int] = []
    for start in _positions(tangle):
        # Cycles through a lower position have been looked at from there.
        among = tangle >> start << start
        best = _cycle_from(start, up, among, shorter_than=len(best) or among.bit_count() + 1) or best
    return best


def _cycle_from(start: int, up: Mapping[int, int], among: int, shorter_than: int) -> list[int]:
    """The shortest cycle through this position, or nothing if it is not so short."""
    rings: list[int] = []
    for ring in islice(_rings(start, up, among), shorter_than - 1):
        if _has(ring, start):
            # Followed from its end: in each ring the lowest position with an edge to the one after it.
            back = [start]
            for before in reversed(rings):
                back.append(next(position for position in _positions(before) if _has(up[position], back[-1])))
            return [start, *back[:0:-1]]
        rings.append(ring)
    return []


def _rings(start: int, edges: Mapping[int, int], among: int) -> Iterator[int]:
    """What can be reached in one step, what in two and not in one, and so on."""
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
    """The members of a set, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
