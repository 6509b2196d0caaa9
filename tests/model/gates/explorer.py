"""Visit all states of a model, breadth first, and find the shortest way to each property that is broken.

A model says how it begins, which steps a state allows, and which properties a state breaks. Steps that are faults are
left out when the explorer asks whether a state can still reach an end, so that no run is saved by a crash.
"""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntFlag
from itertools import pairwise
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

S = TypeVar("S")
Ints: TypeAlias = "array[int]"


class Kind(IntFlag):
    """Properties of a step that the explorer needs to know."""

    PLAIN = 0
    FAULT = 1
    """A crash, a stop, a duplicate, or a change by a user: nothing relies on it."""
    PARK = 2
    """A run goes on a waiting list. Without faults this happens a bounded number of times."""


class Step(NamedTuple, Generic[S]):
    """One step of one process, and the state after it."""

    label: str
    after: S
    kind: Kind = Kind.PLAIN
    breaks: tuple[str, ...] = ()
    """Properties that the step itself breaks."""


class Model(Protocol[S]):
    def initial(self) -> S:
        """Return the state in which everything begins."""
        ...

    def steps(self, state: S) -> Iterator[Step[S]]:
        """Yield all steps that the state allows."""
        ...

    def broken(self, state: S) -> Iterable[str]:
        """Yield the properties that the state breaks."""
        ...

    def is_end(self, state: S) -> bool:
        """Return whether all work is done. Each state must be able to reach such an end without faults."""
        ...


LOST = "S2"
"""The property that an end can be reached."""
CIRCLE = "S5"
"""The property that no run goes on lists forever."""
BITS = 2
FAULT, PARK = int(Kind.FAULT), int(Kind.PARK)


@dataclass(slots=True)
class Graph(Generic[S]):
    states: list[S] = field(default_factory=list)
    edges: list[Ints] = field(default_factory=list)
    """For each visited state its steps: the number of the state after it, and the kind in the last bits."""
    parents: Ints = field(default_factory=lambda: array("l"))
    broken: dict[str, tuple[int, str]] = field(default_factory=dict)
    """For each broken property the first state that breaks it. A step that breaks it: the state before, its label."""
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    states: int
    steps: int
    whole: bool
    faults: int
    broken: dict[str, list[str]]
    """For each broken property the labels of the shortest way to it."""


def check(model: Model[S], *, most: int = 2_000_000, stop_at: Iterable[str] = ()) -> Outcome:
    """Explore a model. `stop_at`: properties of single states at which the exploration stops at once."""
    graph = explore(model, most, frozenset(stop_at))
    ways = {name: _way(model, graph, *found) for name, found in graph.broken.items()}
    lost = first_lost(model, graph) if graph.whole else None
    if lost is not None:
        ways[LOST] = [*_way(model, graph, lost, ""), f"=> {graph.states[lost]}"]
    circle = first_circle(graph)
    if circle is not None:
        lead = _way(model, graph, circle[0], "")
        ways[CIRCLE] = [*lead, "-- and now again and again:", *_labels(model, graph, circle)]
    faults = sum(edge & FAULT for out in graph.edges for edge in out)
    return Outcome(len(graph.states), sum(map(len, graph.edges)), graph.whole, faults, ways)


def explore(model: Model[S], most: int, stop_at: frozenset[str]) -> Graph[S]:
    first = model.initial()
    graph = Graph[S]([first], [], array("l", [-1]))
    number = {first: 0}
    queue = deque([0])
    while queue:
        at = queue.popleft()
        out = array("l")
        for step in model.steps(graph.states[at]):
            to = number.get(step.after)
            if to is None:
                to = number[step.after] = len(graph.states)
                graph.states.append(step.after)
                graph.parents.append(at)
                queue.append(to)
                for name in model.broken(step.after):
                    graph.broken.setdefault(name, (to, ""))
            for name in step.breaks:
                graph.broken.setdefault(name, (at, step.label))
            out.append(to << BITS | int(step.kind))
        graph.edges.append(out)
        if len(graph.states) > most or not stop_at.isdisjoint(graph.broken):
            graph.whole = False
            graph.edges += [array("l")] * (len(graph.states) - len(graph.edges))
            break
    return graph


def first_lost(model: Model[S], graph: Graph[S]) -> int | None:
    """Return the first state from which no way without faults leads to an end."""
    back: list[Ints] = [array("l") for _ in graph.states]
    for at, out in enumerate(graph.edges):
        for edge in out:
            if not edge & FAULT:
                back[edge >> BITS].append(at)
    todo = [number for number, state in enumerate(graph.states) if model.is_end(state)]
    good = bytearray(len(graph.states))
    for number in todo:
        good[number] = 1
    while todo:
        for before in back[todo.pop()]:
            if not good[before]:
                good[before] = 1
                todo.append(before)
    return next((number for number, is_good in enumerate(good) if not is_good), None)


def first_circle(graph: Graph[Any]) -> list[int] | None:
    """Return the shortest circle of steps without faults that begins with the first parking step that has one."""
    if not any(edge & PARK for out in graph.edges for edge in out):
        return None
    part = _parts(graph.edges)
    for at, out in enumerate(graph.edges):
        for edge in out:
            to = edge >> BITS
            if edge & PARK and not edge & FAULT and part[to] == part[at]:
                return _circle(graph.edges, part, at, to)
    return None


def _parts(edges: Sequence[Ints]) -> Ints:
    """Return the strongly connected part of each state, without faults (Tarjan's algorithm, without recursion)."""
    size = len(edges)
    index, low, part = array("l", [0]) * size, array("l", [0]) * size, array("l", [-1]) * size
    stack: list[int] = []
    count = 0
    for root in range(size):
        if index[root]:
            continue
        work = [(root, 0)]
        while work:
            at, position = work.pop()
            if position == 0:
                count += 1
                index[at] = low[at] = count
                stack.append(at)
            deeper = _deeper(edges[at], at, position, index=index, low=low, part=part)
            if deeper is not None:
                work += [(at, deeper), (edges[at][deeper - 1] >> BITS, 0)]
                continue
            if low[at] == index[at]:
                _close(stack, at, part)
            if work:
                before = work[-1][0]
                low[before] = min(low[before], low[at])
    return part


def _deeper(out: Ints, at: int, position: int, *, index: Ints, low: Ints, part: Ints) -> int | None:
    """Return the position after the next step to a state that was not visited yet. None: there is none."""
    for after, edge in enumerate(out[position:], position + 1):
        to = edge >> BITS
        if edge & FAULT:
            continue
        if not index[to]:
            return after
        if part[to] < 0:
            low[at] = min(low[at], index[to])
    return None


def _close(stack: list[int], root: int, part: Ints) -> None:
    while True:
        member = stack.pop()
        part[member] = root
        if member == root:
            return


def _circle(edges: Sequence[Ints], part: Ints, begin: int, second: int) -> list[int]:
    came: dict[int, int] = {second: -1}
    queue = deque([second])
    while begin not in came:
        at = queue.popleft()
        for edge in edges[at]:
            to = edge >> BITS
            if not edge & FAULT and part[to] == part[begin] and to not in came:
                came[to] = at
                queue.append(to)
    return [begin, *_back(came, begin)]


def _back(came: "dict[int, int] | Ints", at: int) -> list[int]:
    chain = []
    while at >= 0:
        chain.append(at)
        at = came[at]
    return chain[::-1]


def _way(model: Model[S], graph: Graph[S], to: int, label: str) -> list[str]:
    return [*_labels(model, graph, _back(graph.parents, to)), *([label] if label else [])]


def _labels(model: Model[S], graph: Graph[S], chain: Sequence[int]) -> list[str]:
    return [
        next(step.label for step in model.steps(graph.states[a]) if step.after == graph.states[b])
        for a, b in pairwise(chain)
    ]
