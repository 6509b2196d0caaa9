"""The format of messages in queues, for both engines. The first version wrote none, which counts as 1."""

from collections.abc import Mapping
from typing import Any, Final

FORMAT: Final = 1
"""A change of the meaning of a message needs the next number. A new field that may be left out needs none."""
FORMAT_FIELD: Final = "format"


def refuse_newer_message(fields: Mapping[str, Any]) -> None:
    """Raise ValueError when a newer version wrote the message in a format that this version does not know.

    Its reader gives the message back to the queue, for a reader of the newer version. If there is none, the message
    becomes a dead letter, and the sweep sends the run again.
    """
    found = int(fields.get(FORMAT_FIELD, FORMAT))
    if found > FORMAT:
        raise ValueError(f"it has format {found}, and this version knows formats up to {FORMAT}")
