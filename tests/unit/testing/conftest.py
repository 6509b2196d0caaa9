"""Give these tests the fixtures that users get by `pytest_plugins`, which only the top-level conftest.py may have."""

import pytest

from onthedot.testing import onthedot as onthedot  # noqa: PLC0414
from onthedot.testing import onthedot_start as onthedot_start  # noqa: PLC0414
from tests.unit.testing import handlers


@pytest.fixture(autouse=True)
def _clean() -> None:
    handlers.outbox.clear()
    handlers.delivered.clear()
