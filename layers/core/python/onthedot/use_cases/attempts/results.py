"""What targets answer: in the record when short, apart when long, with a link for those who ask."""

from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import Record
from onthedot.ports import RESULT_BYTES, Blobs
from onthedot.use_cases.jobs.payloads import LINK_SECONDS

INLINE_BYTES: Final = 1024
"""Longer results live apart, so that the record's last move stays cheap."""
PREFIX: Final = "results/"


@dataclass(frozen=True, slots=True)
class Stored:
    inline: str | None
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class ShownResult:
    """A result as it is shown to a client."""

    text: str | None
    link: str | None


def store_result(blobs: Blobs, run: Record, result: str | None) -> Stored:
    """Where the result is kept: a long one under the attempt's own key, so that writing twice is harmless.

    The work is done: one that cannot be put away is cut, and says so, rather than done again.
    """
    content = (result or "").encode()
    if len(content) <= INLINE_BYTES:
        return Stored(result)
    key = f"{PREFIX}{run.run_id}/{run.attempt}-{run.attempt_token}"
    try:
        blobs.put(key, content[:RESULT_BYTES])
    except Unavailable as error:
        return Stored(f"{content[: INLINE_BYTES // 2].decode(errors='ignore')}… (cut: {error})"[:INLINE_BYTES])
    return Stored(None, key)


def short_result(blobs: Blobs, run: Record) -> ShownResult:
    """Return the result of a run for a listing: a short one as text, a long one as a link."""
    return ShownResult(run.result, result_link(blobs, run))


def whole_result(blobs: Blobs, run: Record) -> ShownResult:
    """Return the result of a run, with the text of a long one where the engine has no links.

    Raise Unavailable when it cannot be read now.
    """
    shown = short_result(blobs, run)
    if run.result_ref is None or shown.link is not None:
        return shown
    content = blobs.get(run.result_ref)
    return ShownResult(None if content is None else content.decode(errors="replace"), None)


def result_link(blobs: Blobs, run: Record) -> str | None:
    """Return a URL that shows a long result for a while. None: it is short, or the engine has no such URLs."""
    return None if run.result_ref is None else blobs.link(run.result_ref, LINK_SECONDS)
