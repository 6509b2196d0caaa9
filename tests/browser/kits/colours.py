"""Pictures with few colours, so that files are small. Rare colours keep their hue: marks of states are small."""

from typing import Final

from PIL import Image

MOST: Final = 256
ALIKE: Final = 9
"""Two colours with less difference in each channel are shown as the one that the picture has more often."""
Colour = tuple[int, int, int]


def with_few_colours(picture: Image.Image, most: int = MOST) -> Image.Image:
    """Return the picture with at most so many colours."""
    palette = Image.new("P", (1, 1))
    palette.putpalette([channel for colour in chosen_colours(picture, most) for channel in colour])
    return picture.convert("RGB").quantize(palette=palette, dither=Image.Dither.NONE)


def chosen_colours(picture: Image.Image, most: int) -> list[Colour]:
    """Return the colours that are frequent, or that no frequent one is like."""
    counted = picture.convert("RGB").getcolors(picture.width * picture.height) or []
    chosen: list[Colour] = []
    for _, colour in sorted(counted, reverse=True):
        assert isinstance(colour, tuple)
        red, green, blue = colour
        if not any(abs(r - red) < ALIKE and abs(g - green) < ALIKE and abs(b - blue) < ALIKE for r, g, b in chosen):
            chosen.append((red, green, blue))
            if len(chosen) == most:
                break
    return chosen
