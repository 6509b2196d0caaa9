"""The bars of onthedot's row, from the rows of one run of the benchmark. Pure."""

from collections.abc import Mapping
from typing import Final

from benchmarks.common import Bar
from benchmarks.peers.measured import Figures

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
