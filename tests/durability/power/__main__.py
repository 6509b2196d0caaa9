"""Lose power many times: `python -m tests.durability.power --images 10000`. It exits with 1 when it finds a fault."""

import argparse
import sys

from tests.durability.power.campaign import lose_power


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    faults, counts = lose_power(chosen.images, chosen.seed, show=_show)
    for fault in faults[:50]:
        _show(f"  {fault}")
    _show(f"{dict(counts)}, {len(faults)} faults")
    return 1 if faults else 0


def _show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
