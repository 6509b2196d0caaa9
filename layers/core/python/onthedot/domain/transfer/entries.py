"""The entries of an export: one JSON object for each thing that a stage stores."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

FORMAT: Final = 1
"""The format of the entries and of the file. A version refuses entries of a newer one."""


class EntryKind(StrEnum):
    """The kinds of entries."""

    RECORD = "record"
    """A job, a run or a skipped range, as `codec` encodes it."""
    BLOB = "blob"
    """A payload or a result that is too large for a record. It comes before its record."""
    LIMITS = "limits"
    """The limits of a tenant."""
    GATE = "gate"
    """The limits of a gate."""
    RATE = "rate"
    """The last start at a gate with a rate."""
    EVENT = "event"
    """The id of a received event, as a hash."""
    TOKEN = "token"  # noqa: S105 - a word, no secret
    """An API token, as a hash."""
    SIGNING = "signing"
    """The keys that sign the calls of a tenant."""


SECRETS: Final = frozenset({EntryKind.TOKEN, EntryKind.SIGNING})
"""The kinds that are exported only if asked."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that a stage stores, as plain JSON values."""

    kind: EntryKind
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
    """Return the entry as a line of the file has it."""
    line = {"kind": entry.kind.value, "format": FORMAT, "id": entry.id, "content": dict(entry.content)}
    return line if entry.why is None else {**line, "why": entry.why}


def from_json(line: Any) -> Entry:
    """Return the entry that `to_json` made. Raise ValueError with a sentence for anything else."""
    if not isinstance(line, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - callers expect one error
    if line.get("format") != FORMAT:
        raise ValueError(f"its format is {line.get('format')!r}, and this version knows format {FORMAT}")
    if line.get("kind") not in set(EntryKind):
        raise ValueError(f"its kind {line.get('kind')!r} is unknown")
    if not isinstance(line.get("id"), str) or not isinstance(line.get("content"), dict):
        raise ValueError("its id or its content is missing")  # noqa: TRY004 - as above
    return Entry(EntryKind(line["kind"]), line["id"], line["content"])
