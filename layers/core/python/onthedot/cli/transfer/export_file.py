"""The file of an export: a header, the entries, and a last line by which a truncated file is noticed, as JSON lines."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from onthedot.cli.text import printable
from onthedot.domain import compact_json
from onthedot.domain.transfer.entries import FORMAT, EntryKind, from_json

MARK: Final = "onthedot export"
END: Final = "end"
_LONGEST_LINE: Final = 16 * 1024 * 1024


@dataclass(slots=True)
class ExportWriter:
    """An export that is being written. Its last line has the counts and a hash of all lines before."""

    file: BinaryIO
    counts: Counter[str] = field(default_factory=Counter)
    is_on_disk: bool = True
    """Whether it is a file, and no pipe."""
    _hash: Any = field(default_factory=hashlib.sha256)

    def begin(self, header: Mapping[str, Any]) -> None:
        """Write the header."""
        self._write({"onthedot": MARK, "format": FORMAT, **header})

    def add(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Write entries, one to a line."""
        for entry in entries:
            self.counts[str(entry["kind"])] += 1
            self._write(entry)

    def end(self) -> None:
        """Write the last line. A file is on the disk when this returns."""
        digest = self._hash.hexdigest()
        self._write({"kind": END, "counts": dict(self.counts), "sha256": digest})
        self.file.flush()
        if self.is_on_disk:
            os.fsync(self.file.fileno())

    def _write(self, value: Mapping[str, Any]) -> None:
        line = _encoded(value) + b"\n"
        self._hash.update(line)
        self.file.write(line)


def _encoded(value: Mapping[str, Any]) -> bytes:
    try:
        return compact_json.to_bytes(value)
    except UnicodeEncodeError:
        # UTF-8 cannot carry half of a surrogate pair. An escape can.
        return json.dumps(value, ensure_ascii=True).encode()


@dataclass(frozen=True, slots=True)
class ExportFile:
    """An export that was read from its first to its last line, and is whole."""

    path: Path
    freeze_id: str | None
    """The freeze of the stage that it comes from. None: that stage went on."""
    digest: str
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """Number of entries."""
        return sum(self.counts.values())

    def pages(self, most: int, most_bytes: int) -> Iterator[list[Any]]:
        """Yield the entries, some at a time. The blobs of a record are on its page."""
        page: list[Any] = []
        size = 0
        for group, length in _groups(self.path):
            if page and (len(page) + len(group) > most or size + length > most_bytes):
                yield page
                page, size = [], 0
            page, size = page + group, size + length
        if page:
            yield page


def read_export(path: Path) -> ExportFile:
    """Read a whole file, and check it. Raise click.ClickException with the line of the first fault."""
    counts: Counter[str] = Counter()
    hashed = hashlib.sha256()
    header: Any = None
    for number, raw in _lines(path):
        line = _object(path, number, raw)
        if number == 1:
            header = _checked_header(path, line)
        elif line.get("kind") == END:
            _check_end(path, line, counts, hashed.hexdigest())
            return ExportFile(path, header.get("freeze_id"), hashed.hexdigest(), dict(counts))
        else:
            _check_entry(path, number, line)
            counts[str(line["kind"])] += 1
        hashed.update(raw)
    raise _fault(path, "it ends too early: the last line with the counts is missing; export again")


def _check_end(path: Path, line: Mapping[str, Any], counts: Mapping[str, int], digest: str) -> None:
    if line.get("counts") != counts or line.get("sha256") != digest:
        raise _fault(path, "it was changed or damaged: its content is not the one that was exported; export again")


def _checked_header(path: Path, line: Mapping[str, Any]) -> Mapping[str, Any]:
    if line.get("onthedot") != MARK:
        raise _fault(path, "it is no export of onthedot; `onthedot export FILE` writes one")
    if line.get("format") != FORMAT:
        raise _fault(path, f"it has format {line.get('format')!r}, and this version knows format {FORMAT}")
    return line


def _check_entry(path: Path, number: int, line: Any) -> None:
    try:
        from_json(line)
    except ValueError as error:
        raise _fault(path, f"line {number}: {error}") from error


def _groups(path: Path) -> Iterator[tuple[list[Any], int]]:
    """Yield each entry with the blobs before it, and its bytes."""
    group: list[Any] = []
    size = 0
    for number, raw in _lines(path):
        line = _object(path, number, raw)
        if number == 1:
            continue
        if line.get("kind") == END:
            break
        group, size = [*group, line], size + len(raw)
        if line["kind"] != EntryKind.BLOB:
            yield group, size
            group, size = [], 0
    if group:
        yield group, size


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            number = 0
            while raw := file.readline(_LONGEST_LINE):
                number += 1
                if not raw.endswith(b"\n"):
                    raise _fault(path, f"it ends in the middle of line {number}; export again")
                yield number, raw
    except OSError as error:
        raise click.ClickException(f"{path} cannot be read: {error.strerror}") from error


def _object(path: Path, number: int, raw: bytes) -> dict[str, Any]:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _fault(path, f"line {number} is no JSON; export again") from error
    if not isinstance(line, dict):
        raise _fault(path, f"line {number} is no JSON object; export again")
    return line


def _fault(path: Path, why: str) -> click.ClickException:
    return click.ClickException(f"{path} cannot be imported: {printable(why)}")
