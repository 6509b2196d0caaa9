"""The progress of a shard as text, for both engines."""

import json
import logging
from dataclasses import fields
from typing import Final

from onthedot.domain import compact_json
from onthedot.domain.runs.pass_progress import ShardProgress

_LOG: Final = logging.getLogger(__name__)
_NAMES: Final = tuple(field.name for field in fields(ShardProgress) if field.name != "text")
_LATER: Final = {"ticked_at": 0}
"""Values that the first version did not store."""


def progress_text(progress: ShardProgress) -> str:
    """Return the progress as it is stored."""
    return compact_json.to_text({name: getattr(progress, name) for name in _NAMES})


def text_before(progress: ShardProgress | None) -> str | None:
    """Return the text that a write expects in the store."""
    return None if progress is None else progress.text or progress_text(progress)


def progress_from(shard: int, text: str) -> ShardProgress | None:
    """Return the progress that `progress_text` wrote. Values of a newer version are ignored.

    None: the text cannot be read, so the shard has no progress, and the text must go.
    """
    try:
        stored = {**_LATER, **json.loads(text)}
        return ShardProgress(**{name: int(stored[name]) for name in _NAMES}, text=text)
    except (ValueError, KeyError, TypeError) as error:
        # One damaged item must not stop the other shards of the group.
        _LOG.error("progress_unreadable", extra={"shard": shard, "text": text, "error": repr(error)})
        return None
