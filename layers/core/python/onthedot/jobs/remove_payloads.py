"""Remove the payloads that no job uses: its job is gone, or a change has replaced the payload.

A pass lists the blobs and reads the jobs that their keys name. The blob of a job has a key that no other record can
come to use, so a blob that its job does not name is never needed again, except by an attempt that has read the job
before. So the pass only notes such blobs, and the next one, which comes at least some minutes later, deletes them.

A blob younger than the history is left alone without a read: its job has just been made, or is history that a client
can see and redrive. Each pass lists and reads a bounded number, and the next one goes on there. A round over all blobs
begins at most once a day.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from onthedot.core import json_text
from onthedot.core.ports import Deadline, ListedBlobs, ReadRecords
from onthedot.core.schema import PASSES, PAYLOADS
from onthedot.engine import Engine
from onthedot.jobs.contents import owner_of

_LOG: Final = logging.getLogger(__name__)
NOTE: Final = f"{PASSES}payloads"
"""The key of the note that a pass leaves for the next one."""
DAY_MS: Final = 24 * 3_600_000
GRACE_MS: Final = 15 * 60_000
"""The least time between the pass that finds an unused blob and the one that deletes it. No attempt takes longer from
the read of its job to the read of its payload, because its lease would be over. A link to a blob is valid for as long.
"""
PAGE: Final = 1_000
MOST_LISTED: Final = 100_000
"""The most keys that one pass lists: 100 calls."""
MOST_READ: Final = 10_000
"""The most jobs that one pass reads."""


@dataclass(frozen=True, slots=True)
class Note:
    """The note of a pass: how far the round is, and the blobs that it found unused."""

    began_at: int = 0
    """The time at which the round over all blobs began."""
    after: str | None = None
    """The last key that was listed. None: the round is over."""
    found_at: int = 0
    unused: tuple[str, ...] = ()


@dataclass(slots=True)
class _Pass:
    engine: Engine
    blobs: ListedBlobs
    deadline: Deadline
    after: str | None
    counts: Counter[str] = field(default_factory=Counter)

    def unused(self) -> Iterator[str]:
        """Yield the keys of unused blobs, and leave the place where the next pass goes on in `after`."""
        while self._has_time():
            keys = self.blobs.keys(PAYLOADS, self.after or "", PAGE)
            self.counts["payloads_listed"] += len(keys)
            yield from self._unused_among(keys)
            self.after = keys[-1] if len(keys) == PAGE else None
            if self.after is None:
                return

    def _has_time(self) -> bool:
        if self.counts["payloads_listed"] >= MOST_LISTED or self.counts["payloads_read"] >= MOST_READ:
            return False
        return self.deadline.allows(self.engine.clock.now())

    def _unused_among(self, keys: Sequence[str]) -> Iterator[str]:
        oldest = self.engine.clock.now() - max(self.engine.deployment.history_days, 1) * DAY_MS
        owners = {key: owner.job_id for key in keys if (owner := owner_of(key)) and owner.stored_at < oldest}
        if not owners:
            return
        self.counts["payloads_read"] += len(owners)
        read = self.engine.store.get_many(list(owners.values()), self.deadline)
        yield from (key for key, job_id in owners.items() if not _may_need(read, job_id, key))


def remove_unused_payloads(engine: Engine, blobs: ListedBlobs, deadline: Deadline) -> Counter[str]:
    """Delete the blobs that the pass before has found unused, and look for others. Return counts. Raise Unavailable."""
    now = engine.clock.now()
    counts: Counter[str] = Counter()
    if not engine.stage.read().is_open:
        return counts  # an import stores blobs before their jobs
    note = _read_note(blobs)
    if note.unused and now >= note.found_at + GRACE_MS:
        blobs.delete(note.unused)
        counts["payloads_removed"] = len(note.unused)
        note = replace(note, unused=())
        _write_note(blobs, note)
    if note.unused or (note.after is None and now < note.began_at + DAY_MS):
        return counts
    work = _Pass(engine, blobs, deadline, note.after, counts)
    found = tuple(work.unused())
    began_at = now if note.after is None else note.began_at
    _write_note(blobs, Note(began_at, work.after, engine.clock.now(), found))
    return counts


def _may_need(read: ReadRecords, job_id: str, key: str) -> bool:
    # A job that could not be read may need it.
    if job_id in read.unread or job_id in read.unreadable:
        return True
    job = read.found.get(job_id)
    return job is not None and job.definition is not None and job.definition.payload_ref == key


def _read_note(blobs: ListedBlobs) -> Note:
    content = blobs.get(NOTE)
    if content is None:
        return Note()
    try:
        fields = json.loads(content)
        return Note(int(fields["began_at"]), fields["after"], int(fields["found_at"]), tuple(fields["unused"]))
    except (ValueError, KeyError, TypeError) as error:
        _LOG.error("note_unreadable", extra={"key": NOTE, "why": repr(error)})
        return Note()


def _write_note(blobs: ListedBlobs, note: Note) -> None:
    blobs.put(NOTE, json_text.to_bytes(asdict(note)))
