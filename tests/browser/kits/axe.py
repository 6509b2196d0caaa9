"""The accessibility rules of axe, run on a page as it is seen now."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page

from tests.browser.kits.console import SIZES, THEMES, Console

SOURCE: Final = Path(__file__).parents[3] / "node_modules/axe-core/axe.min.js"
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_RUN: Final = """async (tags) => {
  const found = await axe.run(document, {runOnly: tags, resultTypes: ["violations"]});
  return found.violations.map((one) => ({
    rule: one.id, help: one.help,
    nodes: one.nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary.split("\\n").slice(1).join("; ")}`),
  }));
}"""


def axe(page: Page) -> list[str]:
    """Return a text for each violation: its rule, and the elements that break it."""
    if not page.evaluate("() => typeof window.axe === 'object'"):
        page.evaluate(_source())
    with _whole(page):
        violations: list[dict[str, Any]] = page.evaluate(_RUN, [*RULES])
    return [f"{one['rule']} ({one['help']}): " + " | ".join(one["nodes"][:5]) for one in violations]


def axe_in_each_look(console: Console) -> list[str]:
    """Return the violations in each theme and size, and where the page is wider than the window."""
    found = []
    for size_name, size in SIZES.items():
        for theme in THEMES:
            console.look(theme, size)
            found += [f"{theme} {size_name}: {one}" for one in axe(console.page)]
            overflow = console.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            found += [f"{theme} {size_name}: the page is {overflow} px too wide"] if overflow > 0 else []
    return found


@contextmanager
def _whole(page: Page) -> Iterator[None]:
    """Make the window as high as the page.

    Else a bar at its lower edge covers half of a control wherever the page happens to be scrolled to.
    """
    size = page.viewport_size
    height = int(page.evaluate("document.documentElement.scrollHeight"))
    if size is None or height <= size["height"]:
        yield
        return
    page.set_viewport_size({"width": size["width"], "height": height})
    try:
        yield
    finally:
        page.set_viewport_size(size)


@cache
def _source() -> str:
    # The value of the last expression would be sent back.
    return SOURCE.read_text() + "\n;undefined;"
