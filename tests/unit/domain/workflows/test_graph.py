"""Workflows as graphs: the refusals with their reasons, and the order."""

from itertools import pairwise, permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from onthedot.core.choices import MAX_JOBS
from onthedot.core.errors import Problem
from onthedot.workflows.graph import MAX_CYCLES, MAX_HINTS, Graph, Node, check, order
from tests.unit.domain.workflows.strategies import DIAMOND, a_chain, dags, digraphs

ARROWS = "these wait for each other: {}; remove one dependency"


def cycle_in(trouble: Problem) -> list[str]:
    """The keys of the path that a message shows, the first of them at the end again."""
    before, after = ARROWS.split("{}")
    assert trouble.field.endswith(".depends_on")
    return trouble.message.removeprefix(before).removesuffix(after).split(" → ")


def all_cycles(nodes: list[Node]) -> list[tuple[str, ...]]:
    """Every cycle once, by trying everything; it begins with its lowest position."""
    parents = {node.key: node.depends_on for node in nodes}
    tries = [path for size in range(2, len(nodes) + 1) for path in permutations(parents, size)]
    place = {node.key: n for n, node in enumerate(nodes)}
    real = [path for path in tries if all(b in parents[a] for a, b in pairwise([*path, path[0]]))]
    return [path for path in real if place[path[0]] == min(place[key] for key in path)]


def test_a_diamond_knows_its_children_and_roots() -> None:
    assert check(DIAMOND.nodes) == []
    assert DIAMOND.children_of("top") == ("right", "left"), "in the order of the request"
    assert (DIAMOND.roots(), DIAMOND.children_of("join")) == (("top",), ())
    assert order(DIAMOND) == ["top", "right", "left", "join"]


def test_jobs_in_a_cycle_have_no_order() -> None:
    with pytest.raises(ValueError, match="cycle"):
        order(Graph((Node("a", ("b",)), Node("b", ("a",)), Node("c"))))


def test_a_workflow_has_one_job_or_up_to_the_limit() -> None:
    assert check([]) == [Problem("jobs", "there are no jobs; give at least one")]
    assert check(a_chain(1)) == check(a_chain(MAX_JOBS)) == []
    assert check(a_chain(501)) == [Problem("jobs", "there are 501 jobs; give at most 500")]


def test_each_bad_dependency_is_told_at_its_entry() -> None:
    assert check([Node("a"), Node("b", ("a", "b", "a", "zzz", "zzz"))]) == [
        Problem("jobs.1.depends_on.1", "a job cannot wait for itself; remove it"),
        Problem("jobs.1.depends_on.2", "'a' is here twice; remove one"),
        Problem("jobs.1.depends_on.3", "no job has the key 'zzz'; add that job or remove it here"),
        Problem("jobs.1.depends_on.4", "'zzz' is here twice; remove one"),
    ]


@pytest.mark.parametrize(
    ("written", "meant"), [("extrct", "extract"), ("EXTRACT", "extract"), ("Extracts", "extract"), (" a ", "A")]
)
def test_a_near_miss_is_told_the_key_that_was_meant(written: str, meant: str) -> None:
    found = check([Node(meant), Node("load", (written,))])
    assert [one.message for one in found] == [f"no job has the key {written!r}; did you mean {meant!r}?"]


def test_nobody_is_told_to_wait_for_itself() -> None:
    assert "did you mean" not in check([Node("extract", ("extrct",))])[0].message
    assert "did you mean 'extract-b'?" in check([Node("extract-a", ("extract_a",)), Node("extract-b")])[0].message


def test_only_the_first_unknown_keys_get_a_hint_for_each_costs_a_look_at_all() -> None:
    found = check([Node("extract"), Node("load", tuple(f"extract{n}" for n in range(1_000)))])
    assert ["did you mean" in one.message for one in found] == [n < MAX_HINTS for n in range(1_000)]


def test_the_whole_path_of_a_cycle_is_shown_from_child_to_parent() -> None:
    nodes = [Node("x"), Node("c", ("a",)), Node("a", ("x", "b")), Node("b", ("c",)), Node("behind", ("b",))]
    assert check(nodes) == [Problem("jobs.1.depends_on", ARROWS.format("c → a → b → c"))]


def test_a_cycle_is_found_beside_other_troubles() -> None:
    nodes = [Node("a", ("a", "b", "nobody")), Node("b", ("a", "a")), Node("b")]
    assert [one.field for one in check(nodes)] == [
        "jobs.0.depends_on.0",
        "jobs.0.depends_on.2",
        "jobs.1.depends_on.1",
        "jobs.2.key",
        "jobs.0.depends_on",
    ]


def test_a_circle_of_as_many_jobs_as_there_may_be_is_shown_whole() -> None:
    nodes = [Node("k0", (f"k{MAX_JOBS - 1}",)), *a_chain(MAX_JOBS)[1:]]
    (trouble,) = check(nodes)
    assert cycle_in(trouble) == ["k0", *(f"k{n}" for n in reversed(range(MAX_JOBS)))]


@given(dags())
def test_jobs_that_depend_on_earlier_ones_only_are_fine_in_any_order_of_the_request(nodes: list[Node]) -> None:
    assert check(nodes) == []
    ordered = order(Graph(tuple(nodes)))
    assert sorted(ordered) == sorted(node.key for node in nodes)
    place = {key: n for n, key in enumerate(ordered)}
    assert all(place[parent] < place[node.key] for node in nodes for parent in node.depends_on)


@given(dags(), st.data())
def test_an_edge_back_makes_a_cycle_through_it_that_is_told_once(nodes: list[Node], data: st.DataObject) -> None:
    chains = [(node.key, parent) for node in nodes for parent in node.depends_on]
    assume(chains)
    child, ancestor = data.draw(st.sampled_from(chains))
    parents = {node.key: node.depends_on for node in nodes}
    for _ in range(data.draw(st.integers(0, 5))):
        ancestor = data.draw(st.sampled_from(parents[ancestor] or (ancestor,)))
    parents[ancestor] = (*parents[ancestor], child)
    (trouble,) = check([Node(node.key, parents[node.key]) for node in nodes])
    path = cycle_in(trouble)
    assert path[0] == path[-1]
    assert trouble.field == f"jobs.{[node.key for node in nodes].index(path[0])}.depends_on"
    assert all(parent in parents[key] for key, parent in pairwise(path))
    assert (ancestor, child) in set(pairwise(path)), "without the new edge there was none"
    assert len(set(path)) == len(path) - 1


def test_no_more_cycles_are_told_than_a_person_reads() -> None:
    pairs = [Node(f"k{n}", (f"k{n ^ 1}",)) for n in range(100)]
    assert len(check(pairs)) == MAX_CYCLES


@given(digraphs())
def test_cycles_are_told_until_none_is_left_and_none_shares_a_job_with_another(nodes: list[Node]) -> None:
    told = [tuple(cycle_in(one)[:-1]) for one in check(nodes)]
    assert set(told) <= set(all_cycles(nodes))
    jobs = [key for cycle in told for key in cycle]
    assert len(jobs) == len(set(jobs))
    assert all_cycles([node for node in nodes if node.key not in jobs]) == []
