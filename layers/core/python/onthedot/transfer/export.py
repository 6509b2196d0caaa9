"""Read everything that a stage stores, page by page, as the entries of an export.

A page is bounded in entries, in bytes and in time. A record that cannot be read is exported as it is.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from onthedot.access.tokens import RESERVED_TENANT
from onthedot.core import codec
from onthedot.core.errors import Unavailable, UnreadableRecord
from onthedot.core.records import Record
from onthedot.engine import Engine
from onthedot.transfer import entries as imported
from onthedot.transfer.entries import BLOB, RECORD, Entry
from onthedot.transfer.kinds import KINDS
from onthedot.transfer.stored_entries import Transfer

PAGE: Final = 500
MOST_BYTES: Final = 2 * 1024 * 1024
"""A page has no more, unless one record with its blobs has: 3 MiB at most. Lambda answers with 6 MB at most."""
PAGE_MS: Final = 10_000


@dataclass(slots=True)
class ExportedPage:
    entries: list[Entry] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    """The runs among them of which an attempt is alive."""
    cursor: str | None = None
    read: int = 0
    """How many stored things were read for this page. Not each one is an entry."""
    total: int | None = None
    """About how many stored things all pages read together. None: it is not known, or this is a later page."""


@dataclass(frozen=True, slots=True)
class Selection:
    history: bool = False
    """Old ended runs."""
    secrets: bool = False
    """Tokens as hashes, and signing keys."""


def export_page(engine: Engine, selection: Selection, cursor: str | None = None) -> ExportedPage:
    began = engine.clock.now()
    stored = transfer_of(engine).entries.page(PAGE, cursor)
    page, size, last = ExportedPage(cursor=stored.cursor, read=stored.read), 0, cursor
    page.total = _total(engine) if cursor is None else None
    for number, one in enumerate(stored.items):
        found = list(_chosen(engine, selection, one.entry, page))
        size += sum(map(_size, found))
        is_late = engine.clock.now() - began >= PAGE_MS
        if page.entries and (size > MOST_BYTES or is_late):
            page.cursor, page.read = last, stored.read * number // len(stored.items)
            return page
        page.entries += found
        last = one.position
    return page


def running_page(engine: Engine, cursor: str | None = None) -> ExportedPage:
    """Return the runs of a page of which an attempt is alive, and no entries. Raise Unavailable."""
    stored = transfer_of(engine).entries.page(PAGE, cursor)
    page = ExportedPage(cursor=stored.cursor, read=stored.read)
    for one in stored.items:
        record = _readable(one.entry)
        if isinstance(record, Record) and imported.is_running(record, engine.clock.now()):
            page.running.append(record.run_id)
    return page


def transfer_of(engine: Engine) -> Transfer:
    """Return the ports of exports and imports. Raise Unavailable if this engine has none."""
    if engine.transfer is None:
        raise Unavailable("this process neither exports nor imports")
    return engine.transfer


def _total(engine: Engine) -> int | None:
    """Return about how many things are stored. None: it is not known, and the export goes on without it."""
    try:
        return transfer_of(engine).entries.about()
    except Unavailable:
        return None


def _chosen(engine: Engine, selection: Selection, entry: Entry, page: ExportedPage) -> Iterator[Entry]:
    """Yield the entry, and its blobs before it, if the export has it."""
    now = engine.clock.now()
    if entry.kind != RECORD:
        if _is_needed(entry, now) and (selection.secrets or not KINDS[entry.kind].is_secret):
            yield entry
        return
    record = _readable(entry)
    if isinstance(record, str):
        if entry.content.get("tenant") != RESERVED_TENANT:
            yield Entry(entry.kind, entry.id, entry.content, record)
        return
    if record is None or not imported.moves(record, now, history=selection.history):
        return
    if imported.is_running(record, now):
        page.running.append(record.run_id)
    yield from _blobs(engine, record)
    yield entry


def _size(entry: Entry) -> int:
    return sum(len(value) if isinstance(value, str | list) else 16 for value in entry.content.values())


def _readable(entry: Entry) -> Record | str | None:
    """Return the record of an entry, or its fault. None: the entry is not a record."""
    if entry.kind != RECORD:
        return None
    try:
        return codec.decode(entry.content)
    except UnreadableRecord as error:
        return error.record.why


def _is_needed(entry: Entry, now: int) -> bool:
    """Return whether the entry still has an effect: a token or an event has not expired, a rate still delays starts."""
    content: Any = entry.content
    if entry.kind == "rate":
        return bool(content["next_start"] > now * 1000)
    if entry.kind == "event":
        return bool(content["expires_at"] and content["expires_at"] * 1000 > now)
    return content.get("expires_at") is None or bool(content["expires_at"] > now)


def _blobs(engine: Engine, record: Record) -> Iterator[Entry]:
    """Yield the blobs of a record. A blob that is missing here is missing in the other stage too."""
    definition = record.definition
    for key in (None if definition is None else definition.payload_ref, record.payload_ref, record.result_ref):
        content = None if key is None else engine.blobs.get(key)
        if key is not None and content is not None:
            yield Entry(BLOB, key, {"base64": base64.b64encode(content).decode()})
