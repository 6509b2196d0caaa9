"""Helpers for checks of JSON that users wrote: the path of a value, and a test of depth that does not recurse."""

from typing import Any, Final

DEEPEST: Final = 32
"""Most levels of objects and lists that are accepted: far more than people write."""


def deeper_than(levels: int, value: Any) -> bool:
    """Return whether objects and lists are nested more than so many levels deep."""
    level = [value]
    for _ in range(levels + 1):
        level = [inner for outer in level for inner in _parts(outer)]
    return bool(level)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def at(path: str, step: str | int) -> str:
    """Return the path with one more step, such as `detail.state[0]`."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step
