"""A scheduler for users' own tests: the embedded engine in memory, under a virtual clock.

Write `pytest_plugins = ["onthedot.testing"]` in the top-level `conftest.py`. Tests then have the fixture `onthedot`.
`docs/testing.md` describes it. Without pytest, `onthedot.testing.kit.kit()` opens the same.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from onthedot.testing.kit import Kit
    from onthedot.testing.targets import HandlerCall, HttpCall, HttpReply

__all__ = ["HandlerCall", "HttpCall", "HttpReply", "Kit", "onthedot", "onthedot_start"]
_HOMES = {"Kit": "kit", "HandlerCall": "targets", "HttpCall": "targets", "HttpReply": "targets"}


@pytest.fixture
def onthedot_start() -> datetime:
    """Return the time at which the virtual clock begins. A test module may have its own fixture of this name."""
    return datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def onthedot(onthedot_start: datetime) -> "Iterator[Kit]":
    from onthedot.testing.kit import kit  # noqa: PLC0415 - tests that do not use it need not load the engine

    with kit(onthedot_start) as opened:
        yield opened


if not TYPE_CHECKING:  # type checkers would take every name for one that exists

    def __getattr__(name: str) -> Any:
        """Load the types when they are first used, as the engine is."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - as above

        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
