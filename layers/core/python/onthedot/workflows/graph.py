"""A workflow as a graph: its problems, the order in which its jobs can run, and its longest chain.

Nothing here recurses, so the longest chain that a workflow may have cannot exhaust the stack.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import Final

from onthedot.core.choices import MAX_JOBS
from onthedot.core.errors import Problem
from onthedot.core.records import TERMINAL, Status

MAX_CYCLES: Final = 10
"""The most cycles that are reported. The search for each looks at all edges."""
MAX_HINTS: Final = 20
"""The most unknown keys that get a hint. A hint compares the key with all keys, and a request with many of them must
not take seconds."""


@dataclass(frozen=True, slots=True)
class Node:
    key: str
    depends_on: tuple[str, ...] = ()
    """The keys of the jobs that it waits for."""


@dataclass(frozen=True)
class Graph:
    """The graph of a workflow in which `check` finds no problem.

    All methods return keys in the order of the request.
    """

    nodes: tuple[Node, ...]

    def children_of(self, key: str) -> tuple[str, ...]:
        """Return the jobs that wait for this one. Raise KeyError if there is no such job."""
        return tuple(self.nodes[position].key for position in self._children[self._positions[key]])

    def roots(self) -> tuple[str, ...]:
        """Return the jobs that wait for no other."""
        return tuple(node.key for node in self.nodes if not node.depends_on)

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return _positions(self.nodes)

    @cached_property
    def _parents(self) -> list[list[int]]:
        return _parents(self.nodes, self._positions)

    @cached_property
    def _children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.nodes]
        for child, its_parents in enumerate(self._parents):
            for parent in its_parents:
                children[parent].append(child)
        return children

    @cached_property
    def _order(self) -> list[int]:
        return list(TopologicalSorter(dict(enumerate(self._parents))).static_order())


def order(graph: Graph) -> list[str]:
    """Return all keys, parents before children. Raise ValueError if there is a cycle."""
    return [graph.nodes[position].key for position in graph._order]


def critical_path(graph: Graph, seconds: Mapping[str, float]) -> list[str]:
    """Return the chain whose durations have the largest sum. A job without a duration, or with a negative one, has 0.

    Among equal sums the chain with the most jobs wins, so that before any job has run it is the longest chain. Then the
    chain wins whose jobs come first in the request, compared from its end. Raise ValueError if there is a cycle.
    """
    length: dict[int, tuple[float, int]] = {}
    before: dict[int, int | None] = {}
    for position in graph._order:
        # max() returns the first of equals, and positions ascend.
        before[position] = parent = max(graph._parents[position], key=length.__getitem__, default=None)
        total, jobs = (0.0, 0) if parent is None else length[parent]
        length[position] = (total + max(0.0, seconds.get(graph.nodes[position].key, 0.0)), jobs + 1)
    step = max(range(len(graph.nodes)), key=length.__getitem__, default=None)
    path = []
    while step is not None:
        path.append(graph.nodes[step].key)
        step = before[step]
    return path[::-1]


def check(nodes: Sequence[Node]) -> list[Problem]:
    """Return everything that keeps these jobs from being a workflow, in the order of the request. Cycles come last.

    The fields are those of the request, such as `jobs.2.depends_on.0`. Of cycles that share jobs only one is reported:
    there can be more of them than a person can read.
    """
    if not nodes:
        return [Problem("jobs", "there are no jobs; give at least one")]
    if len(nodes) > MAX_JOBS:
        return [Problem("jobs", f"there are {len(nodes)} jobs; give at most {MAX_JOBS}")]
    positions = _positions(nodes)
    hints = _Hints(positions)
    found = []
    for index, node in enumerate(nodes):
        if (first := positions[node.key]) != index:
            found.append(Problem(f"jobs.{index}.key", f"is the key of job {first} too; give each job its own"))
        found.extend(_bad_dependencies(index, node, positions, hints))
    for cycle in sorted(islice(_cycles(_parents(nodes, positions)), MAX_CYCLES)):
        path = " → ".join(nodes[position].key for position in [*cycle, cycle[0]])
        found.append(
            Problem(f"jobs.{cycle[0]}.depends_on", f"these wait for each other: {path}; remove one dependency")
        )
    return found


def _cycles(parents: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield cycles that share no position, each from child to parent and beginning with its lowest position."""
    left = dict(enumerate(parents))
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            cycle = error.args[1][:0:-1]
        else:
            return
        first = cycle.index(min(cycle))
        yield cycle[first:] + cycle[:first]
        gone = set(cycle)
        left = {one: [parent for parent in left[one] if parent not in gone] for one in left if one not in gone}


def _bad_dependencies(index: int, node: Node, known: Mapping[str, int], hints: "_Hints") -> Iterator[Problem]:
    seen: set[str] = set()
    for number, key in enumerate(node.depends_on):
        message = None
        if key in seen:
            message = f"{_shown(key)} is here twice; remove one"
        elif key == node.key:
            message = "a job cannot wait for itself; remove it"
        elif key not in known:
            message = f"no job has the key {_shown(key)}; {hints.instead_of(key, node.key)}"
        if message is not None:
            yield Problem(f"jobs.{index}.depends_on.{number}", message)
        seen.add(key)


class _Hints:
    """The hints for unknown keys: the nearest known key in any case, for the first few of them."""

    def __init__(self, known: Iterable[str]) -> None:
        self._spelled = {key.casefold(): key for key in known}
        self._left = MAX_HINTS

    def instead_of(self, key: str, waiting: str) -> str:
        """Return what to write instead of the key, which is never the key of the waiting job."""
        self._left -= 1
        close = get_close_matches(key[:64].strip().casefold(), self._spelled, n=2) if self._left >= 0 else []
        others = [self._spelled[name] for name in close if self._spelled[name] != waiting]
        return f"did you mean {_shown(others[0])}?" if others else "add that job or remove it here"


def _shown(key: str) -> str:
    return ascii(key[:64])


def _positions(nodes: Sequence[Node]) -> dict[str, int]:
    return {node.key: len(nodes) - 1 - back for back, node in enumerate(reversed(nodes))}


def _parents(nodes: Sequence[Node], positions: Mapping[str, int]) -> list[list[int]]:
    """Return for each job the positions of the others that it waits for, ascending. Unknown keys are left out."""
    known = [{positions[key] for key in node.depends_on if key in positions and key != node.key} for node in nodes]
    return [sorted(parents) for parents in known]


_UNSTARTED: Final = frozenset({Status.WAITING, Status.PENDING, Status.DISPATCHED, Status.PAUSED})


@dataclass(frozen=True, slots=True)
class WorkflowProgress:
    """The number of a workflow's jobs, and the status of the workflow itself."""

    total: int
    ended: int
    by_status: Mapping[str, int]
    """Statuses without a job are left out."""
    status: Status
    """The status of the workflow itself."""


def progress(statuses: Mapping[str, str]) -> WorkflowProgress:
    """Return the progress of a workflow whose jobs, by key, are in these statuses.

    A status is the text of a `Status`, or RETRYING. A job in an unknown status counts as begun and not ended.
    """
    counts = Counter(str(status) for status in statuses.values())
    ended = sum(counts[status] for status in TERMINAL)
    return WorkflowProgress(counts.total(), ended, dict(sorted(counts.items())), _status(set(counts)))


def _status(present: set[str]) -> Status:
    """Return the status of the workflow. A workflow without jobs has not begun."""
    if present <= _UNSTARTED:
        return Status.PENDING
    if not present <= TERMINAL:
        return Status.RUNNING
    if Status.FAILED in present:
        return Status.FAILED
    if present & {Status.CANCELLED, Status.DELETED}:
        return Status.CANCELLED
    # A job that was skipped by its own rules does not keep the workflow from succeeding.
    return Status.SKIPPED if present == {Status.SKIPPED} else Status.SUCCEEDED
