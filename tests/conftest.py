"""Tiers run in this order. The end-to-end stack comes up, and its slow jobs are already under way, meanwhile."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
TIERS = ("unit", "contract", "handlers", "infra", "scenarios", "e2e")


def tier_of(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: TIERS.index(tier_of(item)))
