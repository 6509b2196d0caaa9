"""The chain of a workflow that takes longest."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.choices import MAX_JOBS
from onthedot.workflows.graph import Graph, Node, critical_path
from tests.unit.domain.workflows.strategies import DIAMOND, a_chain, dags


def all_chains(nodes: list[Node]) -> list[list[str]]:
    chains = [[node.key] for node in nodes]
    for chain in chains:
        chains.extend([*chain, node.key] for node in nodes if chain[-1] in node.depends_on)
    return chains


def weight(chain: Sequence[str], seconds: Mapping[str, float]) -> tuple[float, int]:
    return sum(seconds.get(key, 0) for key in chain), len(chain)


def test_the_critical_path_is_the_slowest_chain_and_not_the_longest() -> None:
    nodes = (*a_chain(4), Node("slow"), Node("end", ("slow", "k3")))
    assert critical_path(Graph(nodes), {"slow": 9.5, "k1": 4, "k2": 4}) == ["slow", "end"]
    assert critical_path(Graph(nodes), {"slow": 9.5, "k1": 4, "k2": 6}) == ["k0", "k1", "k2", "k3", "end"]


def test_before_anything_has_run_the_critical_path_is_the_longest_chain_and_the_first_of_them() -> None:
    assert critical_path(Graph((Node("alone"), *a_chain(MAX_JOBS - 1))), {}) == [f"k{n}" for n in range(MAX_JOBS - 1)]
    assert critical_path(DIAMOND, {}) == ["top", "right", "join"]
    assert critical_path(Graph(()), {}) == []


def test_a_duration_below_zero_counts_as_none() -> None:
    assert critical_path(Graph(tuple(a_chain(3))), {"k1": -5.0, "k2": float("nan")}) == ["k0", "k1", "k2"]


@given(dags(most=8), st.dictionaries(st.sampled_from([f"k{n}" for n in range(8)]), st.integers(0, 3)))
def test_no_chain_is_longer_than_the_critical_path(nodes: list[Node], seconds: dict[str, float]) -> None:
    path = critical_path(Graph(tuple(nodes)), seconds)
    chains = all_chains(nodes)
    assert path in chains
    assert weight(path, seconds) == max(weight(chain, seconds) for chain in chains)
