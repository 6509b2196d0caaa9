"""The progress of a shard as text, for both engines."""

import json
from dataclasses import asdict
from typing import overload

from onthedot.domain import compact_json
from onthedot.domain.runs.pass_progress import ShardProgress


@overload
def progress_text(progress: ShardProgress) -> str: ...
@overload
def progress_text(progress: None) -> None: ...
@overload
def progress_text(progress: ShardProgress | None) -> str | None: ...
def progress_text(progress: ShardProgress | None) -> str | None:
    """Return the progress as it is stored. The same progress has the same text, so that writes can compare it."""
    return None if progress is None else compact_json.to_text(asdict(progress))


def progress_from(text: str) -> ShardProgress:
    """Return the progress that `progress_text` wrote. Values of a newer version are ignored."""
    stored = json.loads(text)
    return ShardProgress(**{name: int(stored[name]) for name in ShardProgress.__slots__})
