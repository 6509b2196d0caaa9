"""The measurements of one tool, over rounds, and the bars of onthedot's row. Pure."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from benchmarks.common import Bar, quantile

NOTE_BYTES: Final = 42
"""Each note has the same length, so that the length of the file is the number of notes."""


@dataclass(frozen=True, slots=True)
class Note:
    number: int
    due: int
    """Epoch milliseconds, 0 for a job that was due at once."""
    at: int
    """Epoch microseconds."""

    @property
    def late_ms(self) -> float:
        return self.at / 1000 - self.due


def read_notes(content: bytes) -> list[Note]:
    return [Note(*map(int, line.split())) for line in content.splitlines()]


@dataclass(frozen=True)
class Load:
    """Jobs that were created and have run, and the CPU time that this took."""

    numbers: range
    began: float
    """Epoch seconds of the first call."""
    created: float
    """Epoch seconds at which the last call returned."""
    client_ms: float
    worker_ms: float
    store_ms: float
    notes: Sequence[Note]

    @property
    def ended(self) -> float:
        """Epoch seconds of the last start of a job."""
        return max((note.at for note in self.notes), default=math.nan) / 1e6

    @property
    def missing(self) -> int:
        return len(self.numbers) - len({note.number for note in self.notes})

    @property
    def again(self) -> int:
        return len(self.notes) - len({note.number for note in self.notes})


@dataclass(frozen=True)
class Figures:
    """The row of a tool. CPU times are milliseconds for each job, late ones milliseconds."""

    client_ms: float
    worker_ms: float
    """Scheduler and worker. For onthedot this is the server, whose store is part of it."""
    store_ms: float
    created_per_second: float
    finished_per_second: float
    instant_p50: float
    instant_p99: float
    instant_max: float
    steady_p50: float
    steady_p99: float
    steady_max: float
    early: float
    """Jobs that started before their time."""
    earliest_ms: float
    """By how much the earliest of them was early."""
    missing: float
    again: float
    syncs: float | None = None
    """Syncs for each job of the flow, None where they were not counted."""

    @property
    def own_ms(self) -> float:
        """Return the CPU time of the tool's own processes, without the store's server."""
        return self.client_ms + self.worker_ms

    @property
    def all_ms(self) -> float:
        return self.client_ms + self.worker_ms + self.store_ms


WORST_COUNTS: Final = {"early", "earliest_ms", "missing", "again"}
"""Figures of which the worst round counts, and not the median."""


def figures(flow: Load, instant: Load, steady: Load, syncs: float | None) -> Figures:
    """Return the row of a tool: CPU and throughput by jobs that are due at once, lateness by the other two loads."""
    count = len(flow.numbers)
    at_once, spread = ([note.late_ms for note in load.notes] for load in (instant, steady))
    early = [-late for late in [*at_once, *spread] if late < 0]
    loads = (flow, instant, steady)
    return Figures(
        client_ms=flow.client_ms / count,
        worker_ms=flow.worker_ms / count,
        store_ms=flow.store_ms / count,
        created_per_second=count / (flow.created - flow.began),
        finished_per_second=count / (max(flow.ended, flow.created) - flow.began),
        **{f"instant_{name}": value for name, value in _quantiles(at_once).items()},
        **{f"steady_{name}": value for name, value in _quantiles(spread).items()},
        early=len(early),
        earliest_ms=max(early, default=0),
        missing=sum(load.missing for load in loads),
        again=sum(load.again for load in loads),
        syncs=syncs,
    )


def _quantiles(late: Sequence[float]) -> dict[str, float]:
    return {"p50": quantile(late, 0.5), "p99": quantile(late, 0.99), "max": max(late, default=math.nan)}


def over_rounds(rounds: Sequence[Figures]) -> Figures:
    """Return the median of each figure, or the worst of figures that must be 0."""
    rows = [asdict(each) for each in rounds]
    return Figures(
        **{field.name: _over_rounds(field.name, [row[field.name] for row in rows]) for field in fields(Figures)}
    )


def _over_rounds(name: str, values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    if not known:
        return None
    return max(known) if name in WORST_COUNTS else statistics.median(known)


SERVER_MS: Final = 0.5
SHARE_OF_BEST: Final = 0.5
STEADY_P99_MS: Final = 10


def bars(own: Figures, peers: Mapping[str, Figures], bullmq: Mapping[str, Figures]) -> list[Bar]:
    """Return the bars. `peers` are the rows with default settings, `bullmq` those of BullMQ among them."""
    return [
        Bar("CPU of the server for a run, create to finish", own.worker_ms, SERVER_MS, "ms", goal=0.4),
        *_beside_peers(own, peers),
        *_beside_bullmq(own, bullmq),
        Bar("50/s: p99 late", own.steady_p99, STEADY_P99_MS, "ms", goal=5),
        Bar("runs that started early", own.early, 0),
        Bar("runs that are missing", own.missing, 0),
    ]


def _beside_peers(own: Figures, peers: Mapping[str, Figures]) -> list[Bar]:
    if not peers:
        return []
    best = min(peers, key=lambda row: peers[row].own_ms)
    what = f"the same, as a share of client + worker of the best peer, {best}"
    return [Bar(what, own.worker_ms / peers[best].own_ms, SHARE_OF_BEST)]


def _beside_bullmq(own: Figures, bullmq: Mapping[str, Figures]) -> list[Bar]:
    if not bullmq:
        return []
    fastest = min(bullmq, key=lambda row: bullmq[row].instant_p99)
    what = f"due at one instant: p99 late, below that of {fastest}"
    return [Bar(what, own.instant_p99, bullmq[fastest].instant_p99, "ms", goal=500)]


def share_of_all(own: Figures, peers: Mapping[str, Figures]) -> float:
    """Return the CPU time of all processes, client and store included, as a share of the least of the peers'."""
    return own.all_ms / min((each.all_ms for each in peers.values()), default=float("nan"))
