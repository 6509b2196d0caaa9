"""The pages of a gate's holders while its limit changes.

`capacity`, which is stored with page 0, is the limit for which the pages are laid out (0: page 0 has all places). A
worker whose limit has the same layout takes a place of any page. Else it raises the capacity first, or, if its limit is
lower, it reads all pages: if each of them fits its room, the worker takes a place of any page, else only of page 0. A
look lowers the capacity when the limit is old and all pages fit, with the same write that takes the flag away.

The pages are read one after the other. The model has no waiting lists: a worker that finds no place asks again later.

Time: a worker may begin to ask with an older limit until the stored one is KNOWN, a second after the PUT wrote it.
From there to ONE_ASK, and on to THREE_ASKS, each age lasts as long as the longest ask: all workers that ask when an age
begins are done when it ends. After 60 seconds the limit is OLD. Neither a worker that was stopped nor a look keeps time
from passing.

Property: S1: an attempt starts, and when it took its place, as many attempts as the limit allows had theirs already.
Until a PUT returns, the limit before it is allowed too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from tests.model.gates.explorer import Kind, Step

WRITTEN, KNOWN, ONE_ASK, TWO_ASKS, THREE_ASKS, OLD, NEVER = range(7)
AGES: Final = ("", "1 s", "1 s and one ask", "1 s and two asks", "1 s and three asks", "60 s")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRules:
    """The rules of the protocol. A test switches each of them off."""

    is_monotone: bool = True
    """Whether a larger limit has no less room in any page. Off: the places are spread evenly."""
    bounds_page_0: bool = True
    """Whether page 0 never gets more holders than a page has places."""
    checks_age: bool = True
    """Whether a worker that asked for too long gives its place back."""
    returns_at: int = THREE_ASKS
    """The age of a limit at which its PUT returns."""
    settles_at: int = OLD
    """The age of a limit at which a look may lower the capacity to it."""
    raises_again: bool = True
    """Whether a worker that could not raise the capacity tries again. Off: it goes on."""
    flags_first: bool = True
    """Whether a PUT flags the gate before it writes its limit, so that a look that began before cannot lower the
    capacity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageConfig:
    limits: tuple[int, ...]
    """The limit at the beginning, and the limits of the PUTs after it."""
    size: int = 1
    workers: int = 2
    capacity: int | None = None
    """The capacity at the beginning. None: the layout of the limit."""
    running: tuple[int, ...] = ()
    """The pages of the attempts that run at the beginning."""
    stops: int = 0
    """How often a worker may be stopped for longer than it may ask."""


class Asking(NamedTuple):
    pc: str = "idle"
    put: int = 0
    """The number of the PUT whose limit it knows."""
    capacity: int = 0
    page: int = 0
    """Its page. While it counts: the room of page 0."""
    counts: tuple[int, ...] = ()
    is_late: bool = False
    is_older: bool = False
    """Whether it asked already when the limit got its age."""
    is_above: bool = False
    """Whether it has taken a place above the limit."""


class PageState(NamedTuple):
    put: int
    """The number of the PUT whose limit is stored."""
    known: int
    """The first PUT whose limit a worker may still learn."""
    age: int
    allowed: int
    """The highest limit that is in force: until a PUT returns it may be the limit before it."""
    capacity: int
    counts: tuple[int, ...]
    workers: tuple[Asking, ...]
    look: Asking
    stops: int


IDLE: Final = Asking()
Moves = Iterator[tuple[str, PageState, Asking] | tuple[str, PageState, Asking, str]]


class Pages:
    def __init__(self, config: PageConfig, rules: PageRules) -> None:
        self.config, self.rules = config, rules

    def initial(self) -> PageState:
        c = self.config
        capacity = self._layout(c.limits[0]) if c.capacity is None else c.capacity
        pages = max(map(self._page_count, (*c.limits, capacity)))
        counts = tuple(c.running.count(page) for page in range(pages))
        workers = (*(Asking("run", page=page) for page in c.running), *(IDLE,) * (c.workers - len(c.running)))
        return _sorted(PageState(0, 0, OLD, c.limits[0], capacity, counts, workers, IDLE, c.stops))

    def is_end(self, state: PageState) -> bool:
        """No work has to be done here."""
        return all(worker.pc == "idle" for worker in state.workers)

    def broken(self, state: PageState) -> Iterator[str]:
        yield from ()

    def steps(self, state: PageState) -> Iterator[Step[PageState]]:
        for me, worker in enumerate(state.workers):
            if worker in state.workers[:me]:
                continue
            for label, after, now, *breaks in getattr(self, f"_{worker.pc}")(state, worker):
                yield Step(f"W{me} {label}", _with(after, me, now), Kind.PLAIN, tuple(breaks))
            if state.stops and _asks(worker):
                stopped = _with(state._replace(stops=state.stops - 1), me, worker._replace(is_late=True))
                yield Step(f"W{me} IS STOPPED (at {worker.pc})", stopped, Kind.FAULT)
        yield from self._time(state)
        yield from self._look(state)

    def _time(self, state: PageState) -> Iterator[Step[PageState]]:
        limits = self.config.limits
        if state.age >= self.rules.returns_at and state.put + 1 < len(limits):
            limit, put = limits[state.put + 1], state.put + 1
            changed = state._replace(put=put, age=WRITTEN, allowed=max(limit, state.allowed))
            yield Step(f"PUT limit {limit}", changed, Kind.FAULT)
        if state.age < OLD and not any(worker.is_older for worker in state.workers):
            age = state.age + 1
            yield Step(f"limit {limits[state.put]} has the age of {AGES[age]}", self._aged(state, age))

    def _aged(self, state: PageState, age: int) -> PageState:
        marks = KNOWN <= age < THREE_ASKS
        workers = tuple(worker._replace(is_older=marks and _asks(worker)) for worker in state.workers)
        allowed = self.config.limits[state.put] if age >= self.rules.returns_at else state.allowed
        return _sorted(state._replace(known=state.put, age=age, allowed=allowed, workers=workers))

    def _layout(self, limit: int) -> int:
        return 0 if limit <= self.config.size else limit

    def _page_count(self, limit: int) -> int:
        return max(1, -(-limit // self.config.size))

    def _room(self, limit: int, page: int) -> int:
        if not self.rules.is_monotone:
            pages = self._page_count(limit)
            return limit // pages + (page < limit % pages) if page < pages else 0
        return min(self.config.size, max(0, limit - page * self.config.size))

    def _fits(self, limit: int, counts: tuple[int, ...]) -> bool:
        return all(count <= self._room(limit, page) for page, count in enumerate(counts))

    def _limit(self, worker: Asking) -> int:
        return self.config.limits[worker.put]

    def _idle(self, state: PageState, worker: Asking) -> Moves:
        for put in range(state.known, state.put + 1):
            limit = self.config.limits[put]
            pc = "read" if self._layout(limit) else "first"
            yield f"begins to ask, knows limit {limit}", state, Asking(pc, put)

    def _first(self, state: PageState, worker: Asking) -> Moves:
        """Try page 0 as the only page."""
        if state.capacity:
            yield "is refused by page 0: it is not the only page", state, self._seen(state, worker)
        elif state.counts[0] < self._limit(worker):
            yield "takes a place of page 0", *_taken(state, worker, 0)
        else:
            yield "is refused by page 0", state, IDLE

    def _read(self, state: PageState, worker: Asking) -> Moves:
        yield f"reads capacity {state.capacity}", state, self._seen(state, worker)

    def _seen(self, state: PageState, worker: Asking) -> Asking:
        """Return what a worker does that has read page 0."""
        layout = self._layout(self._limit(worker))
        if layout > state.capacity:
            return worker._replace(pc="raise", capacity=state.capacity)
        return self._seen_layout(state.capacity, worker)

    def _seen_layout(self, capacity: int, worker: Asking) -> Asking:
        same = capacity == self._layout(self._limit(worker))
        return worker._replace(pc="take" if same else "pages", capacity=capacity)

    def _raise(self, state: PageState, worker: Asking) -> Moves:
        if state.capacity == worker.capacity:
            capacity = self._layout(self._limit(worker))
            after = state._replace(capacity=capacity)
            yield f"lays the pages out for {capacity}", after, self._seen_layout(capacity, worker)
        elif self.rules.raises_again:
            yield "cannot lay the pages out", state, self._seen(state, worker)
        else:
            yield "cannot lay the pages out", state, self._seen_layout(state.capacity, worker)

    def _pages(self, state: PageState, worker: Asking) -> Moves:
        counts = (*worker.counts, state.counts[len(worker.counts)])
        label = f"reads page {len(counts) - 1}: {counts[-1]}"
        if len(counts) < len(state.counts):
            yield label, state, worker._replace(counts=counts)
            return
        limit = self._limit(worker)
        if self._fits(limit, counts):
            yield f"{label}, all pages fit", state, worker._replace(pc="take", counts=())
            return
        room = max(0, limit - sum(counts[1:]))
        room = min(room, self.config.size) if self.rules.bounds_page_0 else room
        yield f"{label}, page 0 has {room}", state, worker._replace(pc="count", counts=(), page=room)

    def _take(self, state: PageState, worker: Asking) -> Moves:
        """Take a place of any page. A worker that is refused tries another page, or gives up."""
        limit = self._limit(worker)
        for page in range(self._page_count(limit)):
            if self._is_refused(state, worker, page, self._room(limit, page)):
                yield f"is refused by page {page}", state, IDLE
            else:
                yield f"takes a place of page {page}", *_taken(state, worker, page)

    def _count(self, state: PageState, worker: Asking) -> Moves:
        if self._is_refused(state, worker, 0, worker.page):
            yield "is refused by page 0", state, IDLE
        else:
            yield "takes a place of page 0, as counted", *_taken(state, worker, 0)

    def _is_refused(self, state: PageState, worker: Asking, page: int, room: int) -> bool:
        is_other = page == 0 and state.capacity != worker.capacity
        return is_other or state.counts[page] >= room

    def _check(self, state: PageState, worker: Asking) -> Moves:
        if worker.is_late and self.rules.checks_age:
            yield "asked for too long, gives its place back", _add(state, worker.page, -1), IDLE
            return
        started = Asking("run", page=worker.page)
        running = sum(other.pc == "run" for other in state.workers)
        if worker.is_above and running >= self.config.limits[state.put]:
            yield "STARTS", state, started, "S1"
        else:
            yield "STARTS", state, started

    def _run(self, state: PageState, worker: Asking) -> Moves:
        yield "ends", _add(state, worker.page, -1), IDLE

    def _look(self, state: PageState) -> Iterator[Step[PageState]]:
        """Lower the capacity. A look may take any time."""
        look = state.look
        limit = self._limit(look)
        if look.pc == "idle":
            if state.age >= self.rules.settles_at and state.capacity > self._layout(self.config.limits[state.put]):
                seen = state._replace(look=Asking("read", state.put))
                yield Step(f"L sees limit {self.config.limits[state.put]}", seen)
        elif look.pc == "read":
            lowers = state.capacity != self._layout(limit)
            now = look._replace(pc="pages", capacity=state.capacity) if lowers else IDLE
            yield Step(f"L reads capacity {state.capacity}", state._replace(look=now))
        elif look.pc == "pages":
            counts = (*look.counts, state.counts[len(look.counts)])
            is_whole = len(counts) == len(state.counts)
            now = look._replace(pc="lower", counts=()) if is_whole else look._replace(counts=counts)
            now = now if self._fits(limit, counts) else IDLE
            yield Step(f"L reads page {len(counts) - 1}: {counts[-1]}", state._replace(look=now))
        else:
            is_same = state.put == look.put or not self.rules.flags_first
            fits = is_same and state.capacity == look.capacity
            after = state._replace(capacity=self._layout(limit)) if fits else state
            label = f"L lays the pages out for {limit}" if fits else "L cannot lay the pages out"
            yield Step(label, after._replace(look=IDLE))


def _asks(worker: Asking) -> bool:
    return worker.pc not in ("idle", "run") and not worker.is_late


def _taken(state: PageState, worker: Asking, page: int) -> tuple[PageState, Asking]:
    others = sum(other.pc == "run" or (other.pc == "check" and not other.is_late) for other in state.workers)
    now = worker._replace(pc="check", page=page, capacity=0, is_above=others >= state.allowed)
    return _add(state, page, 1), now


def _add(state: PageState, page: int, number: int) -> PageState:
    counts = state.counts
    return state._replace(counts=(*counts[:page], counts[page] + number, *counts[page + 1 :]))


def _with(state: PageState, me: int, worker: Asking) -> PageState:
    return _sorted(state._replace(workers=(*state.workers[:me], worker, *state.workers[me + 1 :])))


def _sorted(state: PageState) -> PageState:
    return state._replace(workers=tuple(sorted(state.workers)))
