"""Store and show the results of targets: short ones in the record, long ones as blobs with a link."""

from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import Record
from onthedot.ports import RESULT_BYTES, Blobs
from onthedot.schema import RESULTS, blobs_of
from onthedot.use_cases.jobs.payloads import LINK_SECONDS

INLINE_BYTES: Final = 1024
"""Longer results are blobs, so that the record's last move stays cheap."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The place of a result: in the record, or in a blob."""

    inline: str | None
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class ShownResult:
    """A result as it is shown to a client."""

    text: str | None
    link: str | None


def store_result(blobs: Blobs, run: Record, result: str | None) -> StoredResult:
    """Store the result and return its place.

    A long result has a key of this attempt alone, so writing it twice is harmless. The work is done, so a result that
    cannot be stored is cut, and says so.
    """
    content = (result or "").encode()
    if len(content) <= INLINE_BYTES:
        return StoredResult(result)
    key = f"{blobs_of(run.tenant, RESULTS)}{run.run_id}/{run.attempt}-{run.attempt_token}"
    try:
        blobs.put(key, content[:RESULT_BYTES])
    except Unavailable as error:
        return StoredResult(f"{content[: INLINE_BYTES // 2].decode(errors='ignore')}… (cut: {error})"[:INLINE_BYTES])
    return StoredResult(None, key)


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
