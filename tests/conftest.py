"""Set up all tests: the order of the tiers, the marks `stack` and `slow`, and tests that run side by side.

In one process the tiers run in the order of `TIERS`. The end-to-end stack comes up meanwhile, with its slow jobs.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Examples are not timed: the machine may be busy with other work. The gate must fail for the same reason twice.
settings.register_profile(
    "onthedot", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("onthedot")

TESTS = Path(__file__).parent
TIERS = ("unit", "contract", "handlers", "infra", "scenarios", "e2e")
TOGETHER = ("infra", "unit/project/test_package.py")
"""Folders and files whose fixtures take seconds. Side by side, one process runs all of their tests."""


def pytest_configure(config: pytest.Config) -> None:
    """Leave out tests that need a stack when tests run side by side: each process would start its own stack."""
    if getattr(config.option, "numprocesses", None):
        chosen = config.option.markexpr
        config.option.markexpr = f"({chosen}) and not stack" if chosen else "not stack"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests by tier and mark those that need a stack."""
    items.sort(key=lambda item: TIERS.index(tier_of(item)))
    for item in items:
        if needs_stack(item):
            item.add_marker("stack")
    if hasattr(config, "workerinput"):
        keep_together(items)


def tier_of(item: pytest.Item) -> str:
    """Return the folder of the test below `tests`."""
    return item.path.relative_to(TESTS).parts[0]


def needs_stack(item: pytest.Item) -> bool:
    """Say whether the test is end to end or uses MiniStack."""
    assert isinstance(item, pytest.Function)
    engine = item.callspec.params.get("kit") if hasattr(item, "callspec") else None
    return tier_of(item) == "e2e" or engine == "ministack" or "ministack" in item.fixturenames


def keep_together(items: list[pytest.Item]) -> None:
    """Group the tests of `TOGETHER`, and put them first so that no process has a long group left at the end."""
    for part in TOGETHER:
        for item in items:
            if is_below(item, part):
                item.add_marker(pytest.mark.xdist_group(part))
    items.sort(key=lambda item: not any(is_below(item, part) for part in TOGETHER))


def is_below(item: pytest.Item, part: str) -> bool:
    """Say whether the test is in this folder or file."""
    return item.path.is_relative_to(TESTS / part)
