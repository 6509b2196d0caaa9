"""The progress of a shard as text, for both engines."""

import json
from typing import Final

from onthedot.domain import compact_json
from onthedot.domain.runs.pass_progress import ShardProgress

_VALUES: Final = ("fire", "watch", "deep", "deep_until", "early")


def progress_text(progress: ShardProgress) -> str:
    """Return the progress as it is stored."""
    return compact_json.to_text({name: getattr(progress, name) for name in _VALUES})


def text_before(progress: ShardProgress | None) -> str | None:
    """Return the text that a write expects to replace: the text that was read, whichever version wrote it."""
    return None if progress is None else progress.as_read or progress_text(progress)


def progress_from(text: str) -> ShardProgress:
    """Return the progress that `progress_text` wrote. Values of a newer version are ignored."""
    stored = json.loads(text)
    return ShardProgress(**{name: int(stored[name]) for name in _VALUES}, as_read=text)
