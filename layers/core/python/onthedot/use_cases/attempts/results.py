"""What targets answer: in the record when short, apart when long, with a link for those who ask."""

from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import Record
from onthedot.ports import RESULT_BYTES, Blobs
from onthedot.schema import RESULTS

INLINE_BYTES: Final = 1024
"""Longer results live apart, so that the record's last move stays cheap."""
LINK_SECONDS: Final = 900


@dataclass(frozen=True, slots=True)
class Stored:
    inline: str | None
    ref: str | None = None


def store_result(blobs: Blobs, run: Record, result: str | None) -> Stored:
    """Where the result is kept: a long one under the attempt's own key, so that writing twice is harmless.

    The work is done: one that cannot be put away is cut, and says so, rather than done again.
    """
    content = (result or "").encode()
    if len(content) <= INLINE_BYTES:
        return Stored(result)
    key = f"{RESULTS}{run.run_id}/{run.attempt}-{run.attempt_token}"
    try:
        blobs.put(key, content[:RESULT_BYTES])
    except Unavailable as error:
        return Stored(f"{content[: INLINE_BYTES // 2].decode(errors='ignore')}… (cut: {error})"[:INLINE_BYTES])
    return Stored(None, key)


def result_link(blobs: Blobs, run: Record) -> str | None:
    """Where a long result can be read for a while."""
    return None if run.result_ref is None else blobs.link(run.result_ref, LINK_SECONDS)
