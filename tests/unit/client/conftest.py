"""A whole scheduler in memory, for tests of its client."""

from collections.abc import Iterator

import pytest

from onthedot.testing.kit import Kit, kit


@pytest.fixture
def world() -> Iterator[Kit]:
    with kit() as opened:
        yield opened
