"""Read the parts of an overview side by side. One that fails or takes too long hides no other."""

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Final

from onthedot.domain.errors import OnthedotError
from onthedot.ports import Engine, KnownPart

_LOG: Final = logging.getLogger(__name__)
LONGEST_SECONDS: Final = 8.0
"""How long a call waits for its parts. The rest of them is unknown then."""
MOST_KNOWN: Final = 2_000
"""Most parts that a process remembers. When there are more, all are forgotten."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an overview: how it is read, and for how long its value is good."""

    name: str
    read: Callable[[], Any]
    good_ms: int
    of_stage: bool = False
    """Whether it is the same for all tenants."""


@dataclass(frozen=True, slots=True)
class ReadParts:
    """The values of the parts that could be read, and the names of the others."""

    values: Mapping[str, Any]
    unknown: Sequence[str]

    def get(self, name: str) -> Any:
        """Return the value of a part. None: it is unknown."""
        return self.values.get(name)


def read_parts(engine: Engine, tenant: str, parts: Sequence[Part]) -> ReadParts:
    """Read parts, or take the values that this process has read a moment ago."""
    now = engine.clock.now()
    keys = {part.name: ("" if part.of_stage else tenant, part.name) for part in parts}
    values = {part.name: known.value for part in parts if (known := _known(engine, keys[part.name], now)) is not None}
    asked = [part for part in parts if part.name not in values]
    for part, value in zip(asked, _read_all(asked), strict=True):
        if value is not None:
            values[part.name] = value.value
            _remember(engine, keys[part.name], KnownPart(now + part.good_ms, value.value))
    return ReadParts(values, [part.name for part in parts if part.name not in values])


@dataclass(frozen=True, slots=True)
class _Value:
    value: Any


def _read_all(parts: Sequence[Part]) -> list[_Value | None]:
    if not parts:
        return []
    readers = ThreadPoolExecutor(len(parts), thread_name_prefix="overview")
    futures = [readers.submit(_read, part) for part in parts]
    try:
        wait(futures, LONGEST_SECONDS)
        return [future.result() if future.done() else None for future in futures]
    finally:
        # A part that takes too long has a deadline of its own. Its thread ends then.
        readers.shutdown(wait=False, cancel_futures=True)


def _read(part: Part) -> _Value | None:
    """Return the value of a part, or None when it cannot be read. Whatever is wrong with it, the others are shown."""
    try:
        return _Value(part.read())
    except OnthedotError as error:
        _LOG.warning("part_unknown", extra={"part": part.name, "why": str(error)})
    except Exception:  # noqa: BLE001 (as the docstring says)
        _LOG.exception("part_unknown", extra={"part": part.name})
    return None


def _known(engine: Engine, key: tuple[str, str], now: int) -> KnownPart | None:
    found = engine.known_parts.get(key)
    return found if found is not None and now < found.until else None


def _remember(engine: Engine, key: tuple[str, str], part: KnownPart) -> None:
    if len(engine.known_parts) >= MOST_KNOWN:
        engine.known_parts.clear()
    engine.known_parts[key] = part
