"""Kill a server many times: `python -m tests.durability.kills --kills 1000`. It exits with 1 when it finds a fault."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.durability.kills.harness import Plan, play


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--jobs", type=int, help="jobs that the clients create  [default: 30 for each kill]")
    parser.add_argument("--seconds", type=float, help="the time over which they do  [default: 0.7 s for each kill]")
    parser.add_argument("--alive", type=float, default=0.6, help="most seconds that a server lives")
    parser.add_argument("--ahead", type=float, default=3.0, help="most seconds between creation and fire time")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    jobs, seconds = chosen.jobs or 30 * chosen.kills, chosen.seconds or 0.7 * chosen.kills
    plan = Plan(chosen.kills, jobs, seconds, chosen.seed, chosen.alive, jobs // 10, chosen.ahead)
    with tempfile.TemporaryDirectory() as folder:
        outcome = play(plan, Path(folder), _show)
    _show(str(outcome))
    for fault in outcome.verdict.faults[:50]:
        _show(f"  {fault}")
    return 1 if outcome.verdict.faults else 0


def _show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
