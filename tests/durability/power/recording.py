"""A file system for SQLite that notes each write, truncate, sync and delete of a database and its side files."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import apsw

VFS_NAME: Final = "recording"
_LOGS: Final = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


@dataclass(frozen=True, slots=True)
class Write:
    file: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    file: str
    size: int


@dataclass(frozen=True, slots=True)
class Sync:
    file: str
    with_folder: bool
    """Whether the folder was synced too. Then files that were deleted before stay deleted."""


@dataclass(frozen=True, slots=True)
class Delete:
    file: str
    is_synced: bool


@dataclass(frozen=True, slots=True)
class Committed:
    """The group with this number was committed, as SQLite says."""

    number: int


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """An operation of the group with this number was reported as done."""

    number: int


Event = Write | Truncate | Sync | Delete | Committed | Acknowledged


@dataclass
class Log:
    """All events, in order. Files are named by the part after the name of the database."""

    path: Path
    events: list[Event] = field(default_factory=list)

    def name(self, path: str | None) -> str | None:
        """Return the short name of a file: "" for the database, "-wal" for its log, None for others."""
        return path[len(str(self.path)) :] if path is not None and path.startswith(str(self.path)) else None


class RecordingFile(apsw.VFSFile):
    """An open file whose changes are noted."""

    def __init__(self, log: Log, filename: Any, flags: list[int]) -> None:
        super().__init__("", filename, flags)
        self._log = log
        self._name = log.name(filename.filename() if isinstance(filename, apsw.URIFilename) else filename)
        # SQLite's own rule (`unixOpen`, `unixSync`): the first sync of a log or journal that it may have created.
        self._sync_folder = bool(flags[0] & apsw.SQLITE_OPEN_CREATE and flags[0] & _LOGS)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        super().xWrite(data, offset)
        self._note(Write(self._name or "", offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        self._note(Truncate(self._name or "", newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._note(Sync(self._name or "", self._sync_folder))
        self._sync_folder = False

    def _note(self, event: Event) -> None:
        if self._name is not None:
            self._log.events.append(event)


class RecordingVfs(apsw.VFS):
    """The file system of the machine, with a log."""

    def __init__(self, log: Log) -> None:
        super().__init__(VFS_NAME, "")
        self._log = log

    def xOpen(self, name: Any, flags: list[int]) -> RecordingFile:  # noqa: N802
        return RecordingFile(self._log, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        name = self._log.name(filename)
        if name is not None:
            self._log.events.append(Delete(name, bool(syncdir)))
