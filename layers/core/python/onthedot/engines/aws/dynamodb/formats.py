"""The format of the items of the table that are no records. See `codec.FORMAT` for records.

As with records, the first format is not stored: an item with the attribute `format` is of a newer version.
"""

from collections.abc import Mapping
from typing import Any, Final

from onthedot.domain.errors import Unavailable

FORMAT: Final = "format"


def is_newer(item: Mapping[str, Any]) -> bool:
    """Return whether a newer version wrote the item, in a format that this version does not know."""
    return FORMAT in item


def refuse_newer_item(item: Mapping[str, Any], what: str) -> None:
    """Raise Unavailable for an item of a newer version. A process of that version can go on with it."""
    if is_newer(item):
        found = next(iter(item[FORMAT].values()))
        raise Unavailable(f"{what} has format {found}, which only a newer version of onthedot can read")
