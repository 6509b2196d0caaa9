"""Follow every page on a fresh `onthedot serve`: each command works and says what the page says."""

from pathlib import Path

import pytest

from tests.pages.blocks import COMMANDS, PAGES, blocks_of
from tests.pages.walk import VARIABLES, Walk
from tests.served import a_server

IN_BOTH_HOMES = ("README.md", "docs/tutorial.md")
"""The pages that `tests/e2e/test_first_pages.py` follows, on the deployed stack and on `serve`."""
MOVING = "docs/moving.md"
RUN = [
    page
    for page in PAGES
    if page not in (VARIABLES, MOVING, *IN_BOTH_HOMES)
    and any(block.is_run_here and block.language in {*COMMANDS, "python"} for block in blocks_of(page))
]


@pytest.mark.parametrize("page", RUN)
def test_the_page_works(page: str, tmp_path: Path) -> None:
    with a_server(tmp_path / ".onthedot") as server:
        walk = Walk(tmp_path, {"http://127.0.0.1:8080": server.url})
        try:
            walk.follow(page)
        finally:
            walk.leave()


def test_the_page_about_moving_works(tmp_path: Path) -> None:
    """It needs a second stage."""
    with a_server(tmp_path / ".onthedot") as source, a_server(tmp_path / "other") as target:
        walk = Walk(tmp_path, {"http://127.0.0.1:8080": source.url, "https://jobs.example.com": target.url})
        walk.environment.update({"SOURCE_TOKEN": source.token, "TARGET_TOKEN": target.token})
        walk.follow(MOVING)
