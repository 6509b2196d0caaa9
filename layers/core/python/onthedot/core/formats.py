"""The format of items. See `codec.FORMAT` for records.

As with records, the first format is not stored: an item with the value `format` is of a newer version.
"""

from typing import Final

from onthedot.core.errors import Unavailable
from onthedot.core.items import Check, Item, absent

FORMAT: Final = "format"
KNOWN_FORMAT: Final[Check] = absent(FORMAT)
"""The item is of a format that this version knows."""


def is_newer(item: Item) -> bool:
    """Return whether a newer version wrote the item, in a format that this version does not know."""
    return FORMAT in item.values


def refuse_newer_item(item: Item, what: str) -> None:
    """Raise Unavailable for an item of a newer version. A process of that version can go on with it."""
    if is_newer(item):
        found = item.values[FORMAT]
        raise Unavailable(f"{what} has format {found}, which only a newer version of onthedot can read")
