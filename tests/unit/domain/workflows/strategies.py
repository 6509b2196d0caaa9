"""Workflows to try: small ones by name, and random graphs with and without cycles."""

from collections.abc import Sequence
from itertools import permutations

from hypothesis import strategies as st

from onthedot.workflows.graph import Graph, Node

Edge = tuple[int, int]
DIAMOND = Graph((Node("join", ("left", "right")), Node("right", ("top",)), Node("left", ("top",)), Node("top")))


def a_chain(length: int) -> list[Node]:
    return [Node(f"k{n}", (f"k{n - 1}",) if n else ()) for n in range(length)]


def named(size: int, edges: set[Edge], places: Sequence[int]) -> list[Node]:
    """Jobs with an edge for each (parent, child), standing in the request in the order of `places`."""
    return [Node(f"k{n}", tuple(f"k{parent}" for parent, child in sorted(edges) if child == n)) for n in places]


@st.composite
def dags(draw: st.DrawFn, most: int = 25) -> list[Node]:
    """Jobs that depend on lower numbers only, shuffled."""
    size = draw(st.integers(1, most))
    pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    edges = {(min(pair), max(pair)) for pair in draw(st.lists(pairs, max_size=3 * size)) if pair[0] != pair[1]}
    return named(size, edges, draw(st.permutations(range(size))))


@st.composite
def digraphs(draw: st.DrawFn) -> list[Node]:
    """Up to six jobs that depend on each other as it comes."""
    size = draw(st.integers(1, 6))
    edges = draw(st.sets(st.sampled_from(list(permutations(range(max(size, 2)), 2))), max_size=12))
    return named(size, {edge for edge in edges if max(edge) < size}, draw(st.permutations(range(size))))
