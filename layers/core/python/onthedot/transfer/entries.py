"""The entries of an export: one JSON object for each thing that a stage stores."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from onthedot.access.tokens import RESERVED_TENANT
from onthedot.core import lifecycle
from onthedot.core.ids import fresh_generation
from onthedot.core.lifecycle import TOMBSTONE_DAYS
from onthedot.core.moves import applied
from onthedot.core.records import Kind, Record, Status
from onthedot.core.slots import Deployment

FORMAT: Final = 1
"""The format of the entries and of the file. A version refuses entries of a newer one."""


RECORD: Final = "record"
"""The kind of a job, a run or a skipped range, as `codec` encodes it. The kinds of what is no run are in `kinds`."""
BLOB: Final = "blob"
"""The kind of a payload or a result that is too large for a record. It comes before its record."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that a stage stores, as plain JSON values."""

    kind: str
    id: str
    """The name of it in messages: the id of a record, the name of a tenant and so on."""
    content: Mapping[str, Any]
    why: str | None = None
    """The fault of a record that the exporting version could not read."""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry, and its place in the store."""

    entry: Entry
    position: str
    """The cursor of a page that begins after this entry."""


def to_json(entry: Entry) -> dict[str, Any]:
    line = {"kind": entry.kind, "format": FORMAT, "id": entry.id, "content": dict(entry.content)}
    return line if entry.why is None else {**line, "why": entry.why}


RECENT_DAYS: Final = 2
"""Ended runs of the last days always move. Their ids keep a fire time or an event from being run twice."""
_DAY_MS: Final = 86_400_000
_OLD: Final = frozenset({Status.SUCCEEDED, Status.SKIPPED, Status.CANCELLED})


def moves(record: Record, now: int, *, history: bool) -> bool:
    """Return whether the record is exported. The stage's own jobs and expired records never are."""
    if record.tenant == RESERVED_TENANT or (record.expires_at is not None and record.expires_at * 1000 <= now):
        return False
    return history or not is_history(record, now)


def is_history(record: Record, now: int) -> bool:
    """Return whether nothing but a reader of the past needs the record.

    These are ended runs, and one-off jobs whose idempotency key is free again. Dead letters are not history, because a
    client can redrive them. Nor is a job whose children may need its result, or a part of a workflow.
    """
    if record.status not in _OLD or record.slot is not None or record.children or record.workflow is not None:
        return False
    if record.kind in (Kind.RECURRING, Kind.EVENT):
        return False
    days = TOMBSTONE_DAYS if record.kind is Kind.ONE_OFF else RECENT_DAYS
    return (record.finished_at or record.created_at) + days * _DAY_MS < now


def is_running(record: Record, now: int) -> bool:
    return record.status is Status.RUNNING and not lifecycle.lease_is_over(record, now)


def as_imported(record: Record, now: int, deployment: Deployment) -> Record:
    """Return the record as the importing stage stores it: in the slot that its own shards give it.

    A run that was sent becomes PENDING, because its message stays behind. So does a run on a waiting list: it asks its
    gates again. A running attempt counts as lost, and the run is tried again under the same id. No imported
    record has the revision 1, so that none is taken for a new one.
    """
    run = record
    if run.status is Status.RUNNING:
        lost = lifecycle.lose(run, now, generation=fresh_generation(), deployment=deployment)
        run = applied(run, lost)
    if run.status is Status.DISPATCHED:
        run = replace(run, status=Status.PENDING)
    run = replace(run, claim_token=None, resends=0, woken=None, held=())
    if run.slot is None and run.status is not Status.PENDING:
        return replace(run, revision=run.revision + 1)
    return applied(run, lifecycle.put_back(run, now, deployment))
