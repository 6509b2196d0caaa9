"""The pages of a gate's holders while its limit changes.

A page has one place here. A gate of limit n has n pages, of one place each. A worker knows a limit that may have
changed since. It looks at `capacity`, the limit for which the pages are laid out. If both are the same, it tries one
page after the other. If not, the pages must be laid out anew before attempts can be counted by pages again:

* Higher: `capacity` is raised.
* Lower: attempts are *counted*. A worker reads the other pages and takes a place of page 0 if fewer than the limit
  are taken in all. When no page has more holders than its room, `capacity` is lowered.

The model has no waiting lists: a worker that finds no place asks again later. Time is what workers in time have done:
two seconds after a PUT no such worker has the old limit, and when the PUT returns, none that was asking then still is.
A worker that is stopped is late and does not keep time from passing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from tests.model.gates.explorer import Kind, Step

COUNTED: Final = -1
"""The capacity of pages that are not laid out for any limit: attempts are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRules:
    """The rules of the protocol. A test switches each of them off."""

    marks_counting: bool = True
    """Whether attempts are counted only after a compare-and-set has set the capacity to COUNTED."""
    settles: bool = True
    """Whether the capacity changes only when no worker in time has an older limit. Until then it is the limit."""
    fits_page_0: bool = True
    """Whether pages are laid out only while page 0 has no more than its room, checked by the same write."""
    expects_capacity: bool = True
    """Whether page 0 expects the capacity that the worker has read."""
    checks_age: bool = True
    """Whether a worker that got a place late gives it back and asks again."""
    raises_first: bool = True
    """Whether the capacity is raised before more places are taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageConfig:
    """An instance of the model."""

    limits: tuple[int, ...]
    """The limit at the beginning, and the limits of the PUTs after it."""
    workers: int = 2
    capacity: int | None = None
    """The capacity at the beginning. None: the limit."""
    running: tuple[int, ...] = ()
    """The pages of the attempts that run at the beginning."""
    stops: int = 0
    """How often a worker may be stopped for longer than it may use its limit."""


class Asking(NamedTuple):
    """A worker."""

    pc: str = "idle"
    limit: int = 0
    phase: int = 0
    """The phase in which it learned the limit."""
    capacity: int = 0
    page: int = 0
    tried: int = 0
    counts: tuple[int, ...] = ()
    is_late: bool = False
    is_older: bool = False
    """Whether it was asking when the old limit ended."""


class PageState(NamedTuple):
    """The gate, and all that works on it."""

    limit: int
    before: int
    """The highest limit that may still be used: until the PUT returns it may be the limit before it."""
    phase: int
    """0: the limit is settled. 1: a PUT was written. 2: two seconds later."""
    capacity: int
    counts: tuple[int, ...]
    workers: tuple[Asking, ...]
    puts: int
    stops: int


IDLE: Final = Asking()
ASKING: Final = frozenset({"read", "take", "raise", "mark", "count", "fit", "check"})


class Pages:
    """The model."""

    def __init__(self, config: PageConfig, rules: PageRules) -> None:
        self.config, self.rules = config, rules

    def initial(self) -> PageState:
        limit = self.config.limits[0]
        capacity = limit if self.config.capacity is None else self.config.capacity
        pages = max(*self.config.limits, capacity, *(page + 1 for page in self.config.running))
        running = [Asking("run", page=page) for page in self.config.running]
        workers = (*running, *(IDLE,) * (self.config.workers - len(running)))
        counts = tuple(self.config.running.count(page) for page in range(pages))
        return _sorted(PageState(limit, limit, 0, capacity, counts, workers, 1, self.config.stops))

    def is_end(self, state: PageState) -> bool:
        """No work has to be done here."""
        return all(worker.pc == "idle" for worker in state.workers)

    def broken(self, state: PageState) -> Iterator[str]:
        if state.phase == 0 and sum(state.counts) < state.limit and self._is_quiet(state) and self._refuses(state):
            yield "W"

    def _is_quiet(self, state: PageState) -> bool:
        return IDLE in state.workers and all(worker.pc in ("idle", "run") for worker in state.workers)

    def _refuses(self, state: PageState) -> bool:
        """Return whether a worker that asks alone finds no place."""
        me = state.workers.index(IDLE)
        now = state
        while True:
            now = next(self._worker(now, me)).after
            active = [worker for worker in now.workers if worker.pc in ASKING]
            if not active:
                return sum(worker.pc == "run" for worker in now.workers) == sum(
                    worker.pc == "run" for worker in state.workers
                )
            me = now.workers.index(active[0])

    def steps(self, state: PageState) -> Iterator[Step[PageState]]:
        for me, worker in enumerate(state.workers):
            if worker not in state.workers[:me]:
                yield from self._worker(state, me)
                if worker.pc in ASKING and not worker.is_late and state.stops:
                    stopped = self._set(state._replace(stops=state.stops - 1), me, worker._replace(is_late=True))
                    yield Step(f"W{me} IS STOPPED (at {worker.pc})", stopped, Kind.FAULT)
        yield from self._time(state)

    def _time(self, state: PageState) -> Iterator[Step[PageState]]:
        asking = [worker for worker in state.workers if worker.pc in ASKING and not worker.is_late]
        if state.phase == 0 and state.puts < len(self.config.limits):
            limit = self.config.limits[state.puts]
            put = state._replace(limit=limit, before=max(limit, state.limit), phase=1, puts=state.puts + 1)
            yield Step(f"PUT limit {limit}", put, Kind.FAULT)
        if state.phase == 1 and all(worker.limit == state.limit for worker in asking):
            marked = tuple(w._replace(is_older=w.pc in ASKING and not w.is_late) for w in state.workers)
            yield Step("two seconds are over", _sorted(state._replace(phase=2, workers=marked)))
        if state.phase == 2 and not any(worker.is_older for worker in asking):
            cleared = tuple(w._replace(is_older=False) for w in state.workers)
            yield Step("the PUT returns", _sorted(state._replace(phase=0, before=state.limit, workers=cleared)))

    def _set(self, state: PageState, me: int, worker: Asking) -> PageState:
        workers = (*state.workers[:me], worker, *state.workers[me + 1 :])
        return _sorted(state._replace(workers=workers))

    def _worker(self, state: PageState, me: int) -> Iterator[Step[PageState]]:
        worker = state.workers[me]
        for label, after, now, *breaks in getattr(self, f"_{worker.pc}")(state, worker):
            yield Step(f"W{me} {label}", self._set(after, me, now), Kind.PLAIN, tuple(breaks))

    def _idle(self, state: PageState, worker: Asking) -> "Moves":
        phase = state.phase if self.rules.settles else 0
        yield f"learns the limit {state.limit}", state, Asking("read", state.limit, phase)

    def _read(self, state: PageState, worker: Asking) -> "Moves":
        """Read page 0, and decide how to go on."""
        capacity = state.capacity
        now = worker._replace(capacity=capacity)
        if worker.phase == 2 and capacity != worker.limit:
            yield f"reads capacity {capacity}, waits until the limit is settled", state, IDLE
        elif capacity == worker.limit or (capacity != COUNTED and worker.phase == 1):
            for page in range(max(capacity, 1)):
                yield f"reads capacity {capacity}, tries page {page}", state, now._replace(pc="take", page=page)
        elif COUNTED != capacity < worker.limit and self.rules.raises_first:
            yield f"reads capacity {capacity}", state, now._replace(pc="raise")
        elif COUNTED != capacity < worker.limit:
            for page in range(worker.limit):
                yield f"reads capacity {capacity}, tries page {page}", state, now._replace(pc="take", page=page)
        elif capacity == COUNTED or not self.rules.marks_counting:
            yield f"reads capacity {capacity}, has to count", state, now._replace(pc="count")
        else:
            yield f"reads capacity {capacity}", state, now._replace(pc="mark")

    def _take(self, state: PageState, worker: Asking) -> "Moves":
        page, pages = worker.page, max(worker.capacity, worker.limit if not self.rules.raises_first else 1)
        fits = page or not self.rules.expects_capacity or state.capacity == worker.capacity
        if not fits:
            yield "is refused by page 0: another capacity", state, worker._replace(pc="read", tried=0, page=0)
        elif state.counts[page] < 1:
            yield f"takes a place of page {page}", _add(state, page, 1), worker._replace(pc="check")
        elif worker.tried + 1 < pages:
            following = worker._replace(page=(page + 1) % pages, tried=worker.tried + 1)
            yield f"is refused by page {page}", state, following
        else:
            yield f"is refused by page {page}, the last one", state, IDLE

    def _raise(self, state: PageState, worker: Asking) -> "Moves":
        fits = state.capacity == worker.capacity
        after = state._replace(capacity=worker.limit) if fits else state
        yield ("raises the capacity" if fits else "cannot raise"), after, worker._replace(pc="read", capacity=0)

    def _mark(self, state: PageState, worker: Asking) -> "Moves":
        fits = state.capacity == worker.capacity
        after = state._replace(capacity=COUNTED) if fits else state
        yield ("marks that it counts" if fits else "cannot mark"), after, worker._replace(pc="read", capacity=0)

    def _count(self, state: PageState, worker: Asking) -> "Moves":
        """Read the other pages one by one, then page 0."""
        page = len(worker.counts) + 1
        if page < len(state.counts):
            counts = (*worker.counts, state.counts[page])
            yield f"reads page {page}: {counts[-1]}", state, worker._replace(counts=counts)
            return
        room = worker.limit - sum(worker.counts)
        is_laid_out = all(n <= (page < worker.limit) for page, n in enumerate(worker.counts, 1))
        if is_laid_out and state.counts[0] <= 1:
            yield "sees that all pages fit", state, worker._replace(pc="fit", counts=())
        elif self.rules.expects_capacity and state.capacity != worker.capacity:
            yield "is refused by page 0: another capacity", state, worker._replace(pc="read", counts=())
        elif state.counts[0] < room:
            yield "takes a place of page 0", _add(state, 0, 1), worker._replace(pc="check", page=0, counts=())
        else:
            yield "counts: no place", state, IDLE

    def _fit(self, state: PageState, worker: Asking) -> "Moves":
        fits = state.capacity == worker.capacity and (state.counts[0] <= 1 or not self.rules.fits_page_0)
        after = state._replace(capacity=worker.limit) if fits else state
        label = "lays out the pages" if fits else "cannot lay out the pages"
        yield label, after, worker._replace(pc="read", capacity=0)

    def _check(self, state: PageState, worker: Asking) -> "Moves":
        if worker.is_late and self.rules.checks_age:
            yield "was late, gives its place back", _add(state, worker.page, -1), IDLE
            return
        running = sum(other.pc == "run" for other in state.workers) + 1
        started = Asking("run", page=worker.page)
        if running > state.before:
            yield "STARTS", state, started, "S1"
        else:
            yield "STARTS", state, started

    def _run(self, state: PageState, worker: Asking) -> "Moves":
        yield "ends", _add(state, worker.page, -1), IDLE


Moves = Iterator[tuple[str, PageState, Asking] | tuple[str, PageState, Asking, str]]


def _add(state: PageState, page: int, number: int) -> PageState:
    counts = state.counts
    return state._replace(counts=(*counts[:page], counts[page] + number, *counts[page + 1 :]))


def _sorted(state: PageState) -> PageState:
    return state._replace(workers=tuple(sorted(state.workers)))
