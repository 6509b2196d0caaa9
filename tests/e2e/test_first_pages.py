"""Follow the first pages that a new user reads, command by command, on the deployed stack and on `onthedot serve`."""

from pathlib import Path

import pytest

from tests.e2e.homes import Home
from tests.pages.test_pages import IN_BOTH_HOMES
from tests.pages.walk import Walk


@pytest.mark.parametrize("page", IN_BOTH_HOMES)
def test_the_page_works(page: str, home: Home, tmp_path: Path) -> None:
    (tmp_path / ".onthedot").symlink_to(home.home.resolve())
    walk = Walk(tmp_path)
    try:
        walk.follow(page)
    finally:
        walk.leave()
