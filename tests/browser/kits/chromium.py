"""One chromium for all tests of this process, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from playwright.sync_api import Browser, Playwright, sync_playwright

FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--hide-scrollbars",
)
"""For a machine without network. The sandbox of chromium needs rights that containers and root do not have."""
NAMES: Final = ("chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str:
    """Return the path of the system's chromium."""
    names = (os.environ.get("ONTHEDOT_CHROMIUM") or NAMES[0], *NAMES)
    found = next((path for name in names if (path := shutil.which(name))), None)
    assert found is not None, "there is no chromium; install it with: make build/.chromium"
    return found


@dataclass
class Chromium:
    """A browser that starts when it is first used, and starts again after it was closed.

    While Playwright is open, its event loop runs in this thread, and `asyncio.run` of other tests would fail.
    """

    _driver: Playwright | None = None
    _browser: Browser | None = None

    def browser(self) -> Browser:
        if self._browser is None:
            self._driver = sync_playwright().start()
            self._browser = self._driver.chromium.launch(executable_path=find_chromium(), args=[*FLAGS])
        return self._browser

    def close(self) -> None:
        if self._browser is not None:
            self._browser.close()
        if self._driver is not None:
            self._driver.stop()
        self._browser = self._driver = None


CHROMIUM: Final = Chromium()


def closed_at_the_end() -> Iterator[None]:
    """The body of a fixture that closes the browser after the tests of its scope."""
    yield
    CHROMIUM.close()
