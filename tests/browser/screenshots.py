"""Take the pictures of the console: `make screenshots`.

All views in both themes and sizes go to `build/screenshots`. The chosen ones and the animation, which README and docs
show, go to `docs/images`.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Page

from tests.browser.kits.chromium import CHROMIUM
from tests.browser.kits.colours import with_few_colours
from tests.browser.kits.console import DESKTOP, SIZES, THEMES, open_console
from tests.browser.kits.views import STATES, VIEWS, View, shown
from tests.browser.kits.walk import Walk
from tests.browser.walk_to_cause import walk_to_cause
from tests.browser.world.build import World, a_shop, wait_for_tick
from tests.browser.world.shop import Shop

ROOT: Final = Path(__file__).parents[2]
ALL: Final = ROOT / "build" / "screenshots"
IMAGES: Final = ROOT / "docs" / "images"
CHOSEN: Final = (
    "overview-light",
    "overview-dark",
    "overview-light-phone",
    "jobs-light",
    "job-light",
    "job-dark-phone",
    "workflow-light",
    "schedule-light",
    "dead-letters-light",
    "workers-light",
    "gates-light",
    "new-job-light",
)
"""Pictures that the docs show."""


def picture_names(view: View) -> Iterator[tuple[str, str, str]]:
    """Return name, theme and size of each picture of a view."""
    for size in SIZES:
        for theme in THEMES:
            yield f"{view.name}-{theme}" + ("-phone" if size == "phone" else ""), theme, size


def take(view: View, world: World, shop: Shop) -> None:
    """Take all pictures of one view: as the window shows it, and the whole page."""
    with shown(view, world, shop) as console:
        for name, theme, size in picture_names(view):
            console.look(theme, SIZES[size])
            console.settle()
            shoot(console.page, ALL / f"{name}.png")
            if name in CHOSEN:
                keep(name)
            height = int(console.page.evaluate("document.documentElement.scrollHeight"))
            if height > SIZES[size]["height"]:
                # A taller window, because bars at its lower edge would lie across a picture of the whole page.
                console.look(theme, {"width": SIZES[size]["width"], "height": height})
                shoot(console.page, ALL / f"{name}-whole.png")


def shoot(page: Page, file: Path) -> None:
    page.screenshot(path=file, animations="disabled", caret="hide")


def keep(name: str) -> None:
    """Copy a picture to the docs, with few colours."""
    with Image.open(ALL / f"{name}.png") as picture:
        small = with_few_colours(picture)
    small.save(IMAGES / f"console-{name}.png", optimize=True)


def animate(world: World, shop: Shop) -> None:
    """Take the animation."""
    with open_console(world.server.url, shop.tokens["operator"], "/", "light", DESKTOP) as console:
        walk = Walk(console.page)
        walk_to_cause(console, walk, world)
        walk.write(IMAGES / "console.gif")


def main(arguments: Sequence[str]) -> None:
    """Take the pictures of the views that are named, or of all, and the animation."""
    views = {view.name: view for view in (*VIEWS, *STATES)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"animation, or a view: {', '.join(views)}")
    names = parser.parse_args(arguments).names or [*views, "animation"]
    for folder in (ALL, IMAGES):
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, a_shop(Path(home)) as (world, shop):
        wait_for_tick(world)
        for name in names:
            print(name, flush=True)  # noqa: T201 - a command
            if name == "animation":
                animate(world, shop)
            else:
                take(views[name], world, shop)
        CHROMIUM.close()


if __name__ == "__main__":
    main(sys.argv[1:])
