"""Open the console as a person with a role does, in a theme and a size."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import Page, Route, ViewportSize, expect

from tests.browser.kits.chromium import CHROMIUM
from tests.browser.kits.watch import Watch

PHONE: Final[ViewportSize] = {"width": 390, "height": 844}
DESKTOP: Final[ViewportSize] = {"width": 1440, "height": 900}
SIZES: Final = {"desktop": DESKTOP, "phone": PHONE}
THEMES: Final = ("light", "dark")
PATIENCE_MS: Final = 30_000
"""How long a condition may take. Usually it is there at once, but tests share the machine."""
ZONE: Final = "Europe/Berlin"
_SIGN_IN: Final = """
if (location.protocol.startsWith("http") && !sessionStorage.getItem("signed-in")) {{
  sessionStorage.setItem("signed-in", "1");
  sessionStorage.setItem("onthedot.token", {token});
}}"""
"""Once for each tab, so that a page which was signed out stays so."""

_HIDE: Final = """(hidden) => {
  Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden});
  Object.defineProperty(document, "visibilityState", {configurable: true, get: () => hidden ? "hidden" : "visible"});
  document.dispatchEvent(new Event("visibilitychange"));
}"""

expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Console:
    """A tab with the console, and what it did."""

    page: Page
    url: str
    watch: Watch

    def go(self, route: str) -> Page:
        """Go to a view: `/jobs?status=FAILED`. Return when it shows its data."""
        self.page.goto(f"{self.url}/console#{route}")
        self.settle()
        return self.page

    def settle(self, patience_ms: int = PATIENCE_MS) -> None:
        """Wait until the view has its heading, the role of the reader is known, and nothing loads."""
        expect(self.page.locator("main h1").first).to_be_visible(timeout=patience_ms)
        expect(self.page.locator(".stage").get_by_text("…", exact=True)).to_have_count(0, timeout=patience_ms)
        expect(self.page.locator("[aria-busy=true], [role=status][aria-label^=Loading]")).to_have_count(
            0, timeout=patience_ms
        )

    def hide(self, *, hidden: bool = True) -> None:
        """Tell the page that its tab is hidden, or seen again. A headless browser hides no tab by itself."""
        self.page.evaluate(_HIDE, hidden)

    def look(self, theme: str, size: ViewportSize) -> None:
        """Switch theme and size in place."""
        self.page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
        self.page.set_viewport_size(size)

    @property
    def route(self) -> str:
        """Path and filters of the view, as the address has them."""
        return urlsplit(self.page.url).fragment


def wait_until_held(page: Page, held: list[Route]) -> Route:
    """Return the first request that a route of the test holds, once it has come: the page may show more before."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not held:
        assert time.monotonic() < deadline, "no request came"
        page.wait_for_timeout(20)
    return held[0]


def choose(page: Page, text: str) -> None:
    """Click the text of a choice, which covers its radio button. The form may still move after the click before."""
    radio = page.get_by_role("radio", name=text, exact=True)
    page.locator("label").filter(has=radio).click()
    expect(radio).to_be_checked()


@contextmanager
def open_console(
    url: str,
    token: str | None,
    route: str | None = "/",
    theme: str = "light",
    size: ViewportSize = DESKTOP,
) -> Iterator[Console]:
    """Open the console in a new context. At the end, fail if the page did what it must not do.

    Without a token, the page asks for one. A route of None opens nothing yet.
    """
    context = CHROMIUM.browser().new_context(
        viewport=size,
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id=ZONE,
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(PATIENCE_MS)
    watch = Watch(urlsplit(url).netloc)
    watch.see(context)
    if token is not None:
        context.add_init_script(_SIGN_IN.format(token=json.dumps(token)))
    try:
        console = Console(context.new_page(), url, watch)
        if route is not None:
            console.go(route)
        yield console
        watch.check()
    finally:
        for page in context.pages:
            page.unroute_all(behavior="ignoreErrors")  # a poll may just be in a route of the test
        context.close()
