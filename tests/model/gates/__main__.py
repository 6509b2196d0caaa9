"""Explore instances of the models: `python -m tests.model.gates --help`."""

import argparse
import sys
import time
from collections.abc import Iterable
from typing import Any

from tests.model.gates.configurations import LARGE, PLANTED, SMALL
from tests.model.gates.explorer import Model, check


def main() -> int:
    """Explore, print the counterexamples, and return 1 if the protocol is broken or a planted bug is not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.model.gates", description=__doc__)
    parser.add_argument("names", nargs="*", help="instances or planted bugs, by name")
    parser.add_argument("--list", action="store_true", help="print all names")
    parser.add_argument("--suite", action="store_true", help="explore all instances of the protocol")
    parser.add_argument("--ablate", action="store_true", help="explore all planted bugs")
    parser.add_argument("--most", type=int, default=2_000_000, help="stop after so many states")
    options = parser.parse_args()
    if options.list:
        _say("\n".join((*SMALL, *LARGE, *PLANTED)))
        return 0
    names = [*options.names, *([*SMALL, *LARGE] if options.suite else []), *(PLANTED if options.ablate else [])]
    unknown = [name for name in names if name not in SMALL | LARGE | PLANTED]
    if unknown or not names:
        parser.error(f"unknown: {', '.join(unknown)}" if unknown else "name instances, or --suite, --ablate, --list")
    wrong = [name for name in names if not _explored(name, options.most)]
    if wrong:
        _say(f"wrong: {', '.join(wrong)}")
    return bool(wrong)


def _explored(name: str, most: int) -> bool:
    planted = PLANTED.get(name)
    if planted is None:
        return not _report(name, (SMALL | LARGE)[name], most, ())
    return planted.breaks in _report(name, planted.model, planted.most, (planted.breaks,))


def _report(name: str, model: Model[Any], most: int, stop_at: Iterable[str]) -> dict[str, list[str]]:
    began = time.process_time()
    outcome = check(model, most=most, stop_at=stop_at)
    seen = "all" if outcome.whole else "not all"
    seconds = time.process_time() - began
    broken = ", ".join(outcome.broken) or "nothing"
    _say(f"{name}: {outcome.states:,} states ({seen}), {outcome.steps:,} steps, {seconds:.1f} s, broken: {broken}")
    for property_name, labels in outcome.broken.items():
        _say(f"  {property_name}:")
        for number, label in enumerate(labels, 1):
            _say(f"    {number:2} {label}")
    return outcome.broken


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
