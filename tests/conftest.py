"""Tiers run in this order. The end-to-end stack comes up, and its slow jobs are already under way, meanwhile."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Examples are not timed: the machine may be busy with something else. The gate must fail for the same reason twice.
settings.register_profile(
    "onthedot", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("onthedot")

TESTS = Path(__file__).parent
TIERS = ("unit", "contract", "handlers", "infra", "scenarios", "e2e")


def tier_of(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: TIERS.index(tier_of(item)))
