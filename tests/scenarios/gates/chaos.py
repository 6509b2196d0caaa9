"""Play many random lives of gates on all cores: `python -m tests.scenarios.gates.chaos 0 1000`."""

import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from onthedot.core.errors import Unavailable
from tests.scenarios.gates.checks import LEAK_MS, Checks
from tests.scenarios.gates.life import LEAVES, a_life

MOST_WAITS = 60
"""No run waits more often than this, however often limits change and processes die."""


@dataclass(frozen=True)
class Outcome:
    seed: int
    problems: Sequence[str]
    counts: Counter[str] = field(default_factory=Counter)
    waits: Counter[int] = field(default_factory=Counter)
    """The number of runs by how often they have waited."""


class _Unexpected(logging.Handler):
    """The errors that parts caught so that others go on, and that no service caused."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = None if record.exc_info is None else record.exc_info[1]
        if error is not None and not isinstance(error, Unavailable):
            self.errors.append(f"unexpected: {error!r}")


@contextmanager
def _unexpected() -> Iterator[list[str]]:
    log, handler = logging.getLogger("onthedot"), _Unexpected()
    log.addHandler(handler)
    try:
        yield handler.errors
    finally:
        log.removeHandler(handler)


def live_through(seed: int, *, faulty: bool = True, changing: bool = True) -> Outcome:
    """Play the life of a seed to its end, and check it."""
    with _unexpected() as unexpected, a_life(seed, faulty=faulty, changing=changing) as life:
        life.play()
        lost = [f"without an outcome: {run}" for run in life.live()]
        life.fill(Checks(life.gated.journal).holders())
        lost += [f"without an outcome, at a place of the dead: {run}" for run in life.live() if not lost]
        life.gated.awake = False
        life.gated.let_pass(LEAVES / 1000)
        checks = Checks(life.gated.journal)
        limited = {gate for gate in checks.holders() if (limits := checks.now(gate)) is not None and limits.in_flight}
        problems = [
            *lost,
            *unexpected,
            *checks.strict(),
            *checks.held_too_long(LEAK_MS, life.calm_since),
            *(f"{gate.text} has holders, and nothing runs" for gate in limited),
            *(f"flagged, and nothing waits: {gate}" for gate in life.flagged()),
            *(f"{run} waited {times} times" for run, times in checks.waits.items() if times > MOST_WAITS),
        ]
        counts = Counter(lives=1, runs=len({run.run_id for run in life.gated.journal.runs}), starts=len(checks.starts))
        counts += life.gated.weather.struck + Counter(duplicates=life.gated.counts["duplicates"])
        return Outcome(seed, problems, counts, Counter(checks.waits.values()))


def main(first: int, lives: int) -> int:
    """Play lives, print their problems and totals, and return the exit code."""
    logging.getLogger("onthedot").propagate = False
    counts: Counter[str] = Counter()
    waits: Counter[int] = Counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for outcome in pool.map(live_through, range(first, first + lives)):
            counts += outcome.counts
            waits += outcome.waits
            if outcome.problems:
                counts["bad lives"] += 1
                print(f"life {outcome.seed}:", *outcome.problems[:5], sep="\n  ", flush=True)  # noqa: T201
            if outcome.counts["lives"] and counts["lives"] % 50 == 0:
                print(dict(counts), flush=True)  # noqa: T201
    waited = waits.total()
    again = sum(number for times, number in waits.items() if times > 1)
    print(dict(counts))  # noqa: T201
    share = f"{waited} runs waited, {again} of them more than once ({again / max(waited, 1):.1%})"
    print(share, dict(sorted(waits.items())))  # noqa: T201
    return 1 if counts["bad lives"] else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # A seed plays the same only if sets have the same order.
        os.execve(
            sys.executable, [sys.executable, "-m", __spec__.name, *sys.argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"}
        )
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
