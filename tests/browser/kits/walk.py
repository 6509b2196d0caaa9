"""A short walk through the console, taken as pictures and put together as an animation."""

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw
from playwright.sync_api import Locator, Page

from tests.browser.kits.colours import with_few_colours

COLOURS: Final = 128
MOST_BYTES: Final = 1_500_000
_RING: Final = (209, 52, 41)


@dataclass
class Walk:
    """The frames so far, each with the milliseconds that it is shown."""

    page: Page
    width: int = 1200
    frames: list[tuple[Image.Image, int]] = field(default_factory=list)

    def show(self, milliseconds: int) -> None:
        """Take the page as it is."""
        self.frames.append((self._picture(), milliseconds))

    def click(self, target: Locator, milliseconds: int = 700) -> None:
        """Show where the click goes, then click."""
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        assert box is not None, f"{target} cannot be seen"
        picture = self._picture()
        scale = picture.width / self.page.viewport_size["width"]  # type: ignore[index]
        corners = (box["x"] - 6, box["y"] - 6, box["x"] + box["width"] + 6, box["y"] + box["height"] + 6)
        ImageDraw.Draw(picture).rounded_rectangle([round(one * scale) for one in corners], 8, outline=_RING, width=3)
        self.frames.append((picture, milliseconds))
        target.click()

    def write(self, file: Path) -> None:
        """Write the animation as a GIF that repeats."""
        frames = [with_few_colours(one, COLOURS) for one, _ in self.frames]
        durations = [milliseconds for _, milliseconds in self.frames]
        frames[0].save(file, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
        size = file.stat().st_size
        assert size <= MOST_BYTES, f"{file} has {size:,} bytes; take fewer frames or colours"

    def _picture(self) -> Image.Image:
        whole = Image.open(BytesIO(self.page.screenshot(animations="disabled", caret="hide"))).convert("RGB")
        height = round(whole.height * self.width / whole.width)
        return whole.resize((self.width, height), Image.Resampling.LANCZOS)
