"""The rules of gates, checked from the journal of all writes alone: strict, self-healing, nothing lost."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from onthedot.core.gate_names import GateId, gate_of_slot, tenant_gate
from onthedot.core.ids import is_stamped
from onthedot.core.records import Status
from onthedot.gates.limits import GateLimits
from onthedot.gates.state import Holder
from tests.builders import NOON
from tests.scenarios.kits.gate_journal import GateWrite, Journal, RunWrite

IN_FORCE_MS: Final = 12_500
"""A limit that became stricter counts so long after it was written: a PUT returns after 2.5 s, and 10 s are allowed."""
LEAK_MS: Final = 32_000 + 2 * 60_000 + 30_000
"""Places of the dead are free after a lease and two ticks, of which the second may take half a minute."""


class Start(NamedTuple):
    at: int
    run: RunWrite
    named: frozenset[GateId]
    """The gates that the run names, and its tenant's own."""
    held: frozenset[GateId]


@dataclass
class _Attempt:
    token: str
    lease_until: int


@dataclass
class Checks:
    """The checks of one life, after it has ended."""

    journal: Journal
    began: int = NOON
    limits: dict[GateId, list[tuple[int, GateLimits | None]]] = field(init=False)
    starts: list[Start] = field(init=False)
    waits: Counter[str] = field(default_factory=Counter)
    """How often each run has waited on a list."""

    def __post_init__(self) -> None:
        self.limits = defaultdict(list)
        for write in self.journal.limits:
            self.limits[write.gate].append((write.at, write.limits))
        self.starts = list(self._starts())
        for before, run in _pairs(self.journal.runs):
            if gate_of_slot(run.slot) is not None and (before is None or before.slot != run.slot):
                self.waits[run.run_id] += 1

    # Limits

    def in_window(self, gate: GateId, first: int, last: int) -> list[GateLimits]:
        """Return all limits that a gate had in this time. A time without limits counts as empty ones."""
        history = self.limits.get(gate.base, [])
        begin = bisect_right(history, first, key=lambda one: one[0]) - 1
        found = [limits for at, limits in history[max(begin, 0) :] if at <= last]
        unlimited = begin < 0 and (not history or history[0][0] > self.began)
        return [limits or GateLimits() for limits in ([None] if unlimited else []) + found]

    def lately(self, gate: GateId, run: RunWrite) -> list[GateLimits]:
        """Return the limits of which one may count for a start: its time is before the time of the write."""
        return self.in_window(gate, min(run.started_at or run.at, run.at) - IN_FORCE_MS, run.at)

    def now(self, gate: GateId) -> GateLimits | None:
        history = self.limits.get(gate.base, [])
        return history[-1][1] if history else None

    def _starts(self) -> Iterator[Start]:
        gates_of: dict[str, list[tuple[int, tuple[str, ...]]]] = defaultdict(list)
        for before, run in _pairs(self.journal.runs):
            gates_of[run.run_id].append((run.at, run.gates))
            if run.status is not Status.RUNNING or (before is not None and before.attempt == run.attempt):
                continue
            named = run.gates
            if is_stamped(run.run_id):
                # A job that was changed just now: only the gates that it has named all the time count.
                # A worker that was stopped between its permit and its start asked the gates of that time.
                history, since = gates_of[run.job_id], min(run.started_at or run.at, run.at) - IN_FORCE_MS
                recent = [names for at, names in history if at > since]
                earlier = [names for at, names in history if at <= since][-1:]
                versions = [set(names) for names in earlier + recent]
                named = tuple(set.intersection(*versions)) if versions else ()
            gates = frozenset({tenant_gate(run.tenant), *(GateId.of(run.tenant, one) for one in named)})
            yield Start(run.at, run, gates, frozenset(_held(run)))

    # Rule 2: strict

    def strict(self) -> list[str]:
        return [*self._stopped(), *self._without_place(), *self._too_many(), *self._too_fast()]

    def _stopped(self) -> Iterator[str]:
        for start in self.starts:
            for gate in start.named:
                if all(limits.is_stopped for limits in self.lately(gate, start.run)):
                    yield f"{self._name(start)} started at {gate.text}, which is stopped"

    def _without_place(self) -> Iterator[str]:
        for start in self.starts:
            for gate in start.named - start.held:
                if all(limits.in_flight is not None for limits in self.lately(gate, start.run)):
                    yield f"{self._name(start)} has no place at {gate.text}"

    def _too_many(self) -> Iterator[str]:
        """More attempts run at a gate than it allows. Attempts that started under a larger limit may end."""
        running: dict[GateId, dict[str, _Attempt]] = defaultdict(dict)
        for before, run in _pairs(self.journal.runs):
            at = run.at
            if run.status is not Status.RUNNING:
                if before is not None:
                    for gate in _held(before):
                        running[gate].pop(run.run_id, None)
                continue
            revived = before is not None and (before.lease_until or 0) < at <= (run.lease_until or 0)
            for gate in _held(run):
                running[gate][run.run_id] = _Attempt(run.attempt_token or "", run.lease_until or 0)
                if before is not None and before.attempt == run.attempt and not revived:
                    continue
                live = sum(attempt.lease_until >= at for attempt in running[gate].values())
                allowed = [limits.in_flight for limits in self.lately(gate, run)]
                if None not in allowed and live > max(one for one in allowed if one is not None):
                    yield f"{live} run at {gate.text} of {allowed} at {self._time(at)}: {run.run_id}"

    def _too_fast(self) -> Iterator[str]:
        """More starts than the burst and the rate allow in some window, while the limits stay the same."""
        times: dict[GateId, list[int]] = defaultdict(list)
        for start in self.starts:
            for gate in start.named:
                times[gate].append(start.run.started_at or 0)
        for gate, started in times.items():
            history = [*self.limits.get(gate.base, []), (10**15, None)]
            for (since, limits), (until, _) in pairwise(history):
                if limits is not None and limits.per_second:
                    first = since if since <= self.began else since + IN_FORCE_MS
                    within = sorted(at for at in started if first <= at < until)
                    yield from self._over_rate(gate, limits, within)

    def _over_rate(self, gate: GateId, limits: GateLimits, started: list[int]) -> Iterator[str]:
        interval = 1000 / (limits.per_second or 1)
        burst = limits.burst or 1
        even = 0.0
        for at in started:
            first = even - (burst - 1) * interval
            if first > at + 1e-6:
                yield f"the start at {self._time(at)} is too soon for {gate.text} by {first - at} ms"
            even = max(even, at) + interval

    # Rule 2 and 4: places

    def held_too_long(self, longest_ms: int, after: int = 0) -> list[str]:
        """Return each place that was held so long by a run that was not running, at a gate where runs may wait.

        Only the time after the instant `after` counts.
        """
        return [
            f"{holder.run_id} had a place at {gate.text} for {lasted} ms from {self._time(since)}"
            for gate, holder, since, lasted in self._idle_places()
            if since + lasted - max(since, after) > longest_ms
        ]

    def _idle_places(self) -> Iterator[tuple[GateId, Holder, int, int]]:
        """Yield for how long each holder was there while its attempt did not run and the gate was flagged."""
        writes: list[tuple[int, int, RunWrite | GateWrite]] = [
            *((write.at, 0, write) for write in self.journal.runs),
            *((write.at, 1, write) for write in self.journal.gates),
        ]
        places = _Places(self)
        for at, _, write in sorted(writes, key=lambda one: one[:2]):
            if isinstance(write, RunWrite):
                places.note_run(write, at)
            else:
                places.note_page(write, at)
        yield from places.ended
        now = self.journal.world.clock.now()
        yield from ((gate, holder, since, now - since) for (gate, holder), since in places.idle.items())

    def holders(self) -> dict[GateId, int]:
        pages: dict[tuple[GateId, int], int] = {}
        for write in self.journal.gates:
            pages[write.gate, write.page] = len(write.holders)
        total: Counter[GateId] = Counter()
        for (gate, _), count in pages.items():
            total[gate] += count
        return {gate: count for gate, count in total.items() if count}

    def _name(self, start: Start) -> str:
        return f"attempt {start.run.attempt} of {start.run.run_id} at {self._time(start.at)}"

    def _time(self, at: int) -> str:
        return f"{(at - self.began) / 1000:.3f} s"


@dataclass
class _Places:
    """The places that are idle while the writes are read: their attempt does not run, and runs may wait."""

    checks: Checks
    runs: dict[str, RunWrite] = field(default_factory=dict)
    pages: dict[GateId, dict[int, GateWrite]] = field(default_factory=lambda: defaultdict(dict))
    of_run: dict[str, set[tuple[GateId, Holder]]] = field(default_factory=lambda: defaultdict(set))
    idle: dict[tuple[GateId, Holder], int] = field(default_factory=dict)
    ended: list[tuple[GateId, Holder, int, int]] = field(default_factory=list)

    def note_run(self, run: RunWrite, at: int) -> None:
        self.runs[run.run_id] = run
        for gate, holder in self.of_run[run.run_id]:
            self._update(gate, holder, at)

    def note_page(self, page: GateWrite, at: int) -> None:
        before = self.pages[page.gate].get(page.page)
        self.pages[page.gate][page.page] = page
        changed = page.holders if before is None else before.holders | page.holders
        if page.page == 0 and (before is None or (before.slot is None) != (page.slot is None)):
            changed = changed.union(*(one.holders for one in self.pages[page.gate].values()))
        for holder in changed:
            self.of_run[holder.run_id].add((page.gate, holder))
            self._update(page.gate, holder, at)

    def _update(self, gate: GateId, holder: Holder, at: int) -> None:
        if self._is_idle(gate, holder, at):
            self.idle.setdefault((gate, holder), at)
        elif (since := self.idle.pop((gate, holder), None)) is not None:
            self.ended.append((gate, holder, since, at - since))

    def _is_idle(self, gate: GateId, holder: Holder, at: int) -> bool:
        pages, run = self.pages[gate], self.runs.get(holder.run_id)
        if not any(holder in page.holders for page in pages.values()) or 0 not in pages or pages[0].slot is None:
            return False
        if all(limits.is_stopped for limits in self.checks.in_window(gate, at, at)):
            return False
        return run is None or run.status is not Status.RUNNING or run.attempt_token != holder.token


def _held(run: RunWrite) -> list[GateId]:
    places = (place.partition("#") for place in run.held)
    return [GateId.of(run.tenant, named) for page, _, named in places if page.isdigit()]


def _pairs(writes: list[RunWrite]) -> Iterator[tuple[RunWrite | None, RunWrite]]:
    """Yield each write with the one before it of the same run."""
    last: dict[str, RunWrite] = {}
    for write in writes:
        yield last.get(write.run_id), write
        last[write.run_id] = write
