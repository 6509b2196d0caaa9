"""The latest changes that clients made to a job: who, when, which action and which fields.

They are a part of the job's record and are written by the very move that makes the change. A larger record makes each
move dearer, so they are encoded as a short text: 20 changes by two clients take about 450 bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Final

from onthedot.core.moves import Move
from onthedot.core.records import Record
from onthedot.jobs.spec import LETTERS

MOST_CHANGES: Final = 20
"""Changes that a job keeps."""
_HEX: Final = 16
_UNKNOWN: Final = "-"


class ChangeAction(StrEnum):
    """The action of a client on a job."""

    CREATE = "create"
    """Only its client is stored, of jobs that have many runs: the job's record has its time."""
    CHANGE = "change"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    ASSIGN = "assign"


_ACTIONS: Final = {
    ChangeAction.CREATE: "k",
    ChangeAction.CHANGE: "c",
    ChangeAction.PAUSE: "p",
    ChangeAction.RESUME: "r",
    ChangeAction.CANCEL: "x",
    ChangeAction.ASSIGN: "a",
}
_FIELDS: Final = {letter: name for name, letter in LETTERS.items()}
_WORDS: Final = {letter: action for action, letter in _ACTIONS.items()}


@dataclass(frozen=True, slots=True)
class ChangeNote:
    """One change of a job."""

    at: int
    action: ChangeAction
    by: str | None = None
    """The name of the client's token. None: it is not known."""
    fields: tuple[str, ...] = ()
    """The fields of a PATCH request, as the API spells them."""
    version: int = 1
    """The version of the job after the change."""


def created_by(client: str | None) -> str | None:
    """Return the first text of a job, which names the client that made it."""
    return None if client is None else _text([ChangeNote(0, ChangeAction.CREATE, client)])


def noted(job: Record, move: Move, note: ChangeNote) -> Move:
    """Note the change in the move, with the version that it gives to the job."""
    version = move.changes.get("version", job.version) or 1
    notes = [replace(note, version=version), *read_notes(job.changes)]
    return replace(move, changes={**move.changes, "changes": _text(notes[:MOST_CHANGES])})


def changes_of(job: Record) -> list[ChangeNote]:
    """Return the latest changes, the newest first. The very first is the creation of the job."""
    notes = read_notes(job.changes)
    made = next((note for note in notes if note.action is ChangeAction.CREATE), None)
    created = ChangeNote(job.created_at, ChangeAction.CREATE, None if made is None else made.by)
    return [*(note for note in notes if note is not made), created][:MOST_CHANGES]


def read_notes(text: str | None) -> list[ChangeNote]:
    """Leave out a change that this version cannot read. It does not hide the others."""
    if text is None:
        return []
    entries, *names = text.split("\n")
    found = (_note(entry, names) for entry in entries.split(";"))
    return list(islice((note for note in found if note is not None), MOST_CHANGES))


def _note(entry: str, names: Sequence[str]) -> ChangeNote | None:
    try:
        at, version, what, letters = entry.split(",")
        by = None if what[1:] == _UNKNOWN else names[int(what[1:], _HEX)]
        fields = tuple(_FIELDS[letter] for letter in letters if letter in _FIELDS)
        return ChangeNote(int(at, _HEX), _WORDS[what[0]], by, fields, int(version, _HEX))
    except (ValueError, LookupError):
        return None


def _text(notes: Sequence[ChangeNote]) -> str:
    """Return the changes as text: one entry for each, then each name once. No name has a line break."""
    names = list(dict.fromkeys(note.by for note in notes if note.by is not None))
    entries = ";".join(_entry(note, names) for note in notes)
    return "\n".join([entries, *names])


def _entry(note: ChangeNote, names: Sequence[str]) -> str:
    by = _UNKNOWN if note.by is None else f"{names.index(note.by):x}"
    letters = "".join(LETTERS.get(name, "") for name in note.fields)
    return f"{note.at:x},{note.version:x},{_ACTIONS[note.action]}{by},{letters}"
