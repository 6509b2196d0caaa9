"""A consistent copy of a database file, made by another process than the one that writes it."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onthedot.core.errors import OnthedotError
from onthedot.engines.sqlite.database import FORMAT

_BUSY_SECONDS: Final = 30.0


class BadBackup(OnthedotError):
    """The file cannot be copied, or the copy is not whole."""


@dataclass(frozen=True, slots=True)
class Copied:
    records: int
    size: int


def copy_database(source: Path, copy: Path) -> Copied:
    """Copy the database to an existing, empty file. It is on the disk when this returns. Raise BadBackup.

    One read transaction sees the state of one moment. The writer goes on meanwhile, because the file has a write-ahead
    log. Everything that was acknowledged before this call is in the copy.
    """
    if not source.is_file():
        raise BadBackup(f"there is no data file {source}; name it with --data")
    with _in_a_sentence(source), closing(_open(source, "ro")) as reading:
        _check_format(reading, source)
        with closing(_open(copy, "rw")) as writing:
            reading.backup(writing)
    with _in_a_sentence(copy), closing(_open(copy, "rw")) as written:
        # A copy in this mode is one file, without side files that could be forgotten.
        written.execute("PRAGMA journal_mode = DELETE")
        _check_whole(written, source)
        records = int(written.execute("SELECT count(*) FROM runs").fetchone()[0])
    _sync(copy)
    return Copied(records, copy.stat().st_size)


def _open(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_BUSY_SECONDS)


def _check_format(reading: sqlite3.Connection, source: Path) -> None:
    found = reading.execute("PRAGMA user_version").fetchone()[0]
    if found > FORMAT:
        raise BadBackup(f"{source} has format {found}, and this version of onthedot knows formats up to {FORMAT}")
    if reading.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone() is None:
        raise BadBackup(f"{source} is not a data file of onthedot; name it with --data")


def _check_whole(written: sqlite3.Connection, source: Path) -> None:
    faults = [str(row[0]) for row in written.execute("PRAGMA integrity_check(3)")]
    if faults != ["ok"]:
        raise BadBackup(f"{source} is damaged, and no copy was made: {'; '.join(faults)[:300]}")


@contextmanager
def _in_a_sentence(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise BadBackup(f"{path} cannot be copied: {error}") from error


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
