"""What checks of JSON written by users share: a finding with its place, and a walk that no nesting can exhaust."""

from dataclasses import dataclass
from typing import Any, Final

DEEPEST: Final = 32
"""Levels of objects and lists in what users write for us to walk through: far more than anybody reads."""


@dataclass(frozen=True, slots=True)
class JsonProblem:
    """What is wrong, and where: `detail.state[0].prefix`; an empty path is the whole."""

    path: str
    message: str


def deeper_than(levels: int, value: Any) -> bool:
    """Whether objects and lists stand in each other more than so many levels deep. Recurses nowhere."""
    level = [value]
    for _ in range(levels + 1):
        level = [inner for outer in level for inner in _parts(outer)]
    return bool(level)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def at(path: str, step: str | int) -> str:
    """The path one step further."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step
