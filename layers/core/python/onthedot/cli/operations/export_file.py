"""The file of an export: a header, the entries, and a last line by which a truncated file is noticed, as JSON lines."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from onthedot.cli.output import printable
from onthedot.core import json_text
from onthedot.transfer.entries import BLOB, FORMAT
from onthedot.transfer.kinds import from_json

MARK: Final = "onthedot export"
END: Final = "end"
_MAX_LINE: Final = 16 * 1024 * 1024


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """Give the path of an empty file, which becomes `path` at the end, unless an error is raised.

    It is for its owner only, because it holds secrets or payloads. Raise click.ClickException when there is a file
    already and `force` is not set.
    """
    if path.exists() and not force:
        raise click.ClickException(f"{path} exists; give another name, or --force to replace it")
    part = path.with_name(f"{path.name}.part")
    try:
        part.unlink(missing_ok=True)
        part.touch(mode=0o600, exist_ok=False)
        yield part
        if force:
            part.replace(path)
        else:
            # Unlike a rename, a link never replaces a file that was made meanwhile.
            path.hardlink_to(part)
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


@dataclass(slots=True)
class ExportWriter:
    """An export that is being written. Its last line has the counts and a hash of all lines before."""

    file: BinaryIO
    counts: Counter[str] = field(default_factory=Counter)
    is_on_disk: bool = True
    """Whether it is a file, and no pipe."""
    _hash: Any = field(default_factory=hashlib.sha256)

    def begin(self, header: Mapping[str, Any]) -> None:
        self._write({"onthedot": MARK, "format": FORMAT, **header})

    def add(self, entries: Iterable[Mapping[str, Any]]) -> None:
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
        try:
            line = json_text.to_bytes(value)
        except UnicodeEncodeError:
            # UTF-8 cannot carry half of a surrogate pair. An escape can.
            line = json.dumps(value, ensure_ascii=True).encode()
        line += b"\n"
        self._hash.update(line)
        self.file.write(line)


@dataclass(frozen=True, slots=True)
class ExportFile:
    """An export that was read from its first to its last line, and is complete."""

    path: Path
    freeze_id: str | None
    """The freeze of the stage that it comes from. None: that stage went on."""
    digest: str
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def pages(self, most: int, most_bytes: int) -> Iterator[list[Any]]:
        """Yield the entries, some at a time. The blobs of a record are on its page."""
        page: list[Any] = []
        size = 0
        for group, length in self._groups():
            if page and (len(page) + len(group) > most or size + length > most_bytes):
                yield page
                page, size = [], 0
            page, size = page + group, size + length
        if page:
            yield page

    def _groups(self) -> Iterator[tuple[list[Any], int]]:
        group: list[Any] = []
        size = 0
        for number, raw, line in _lines(self.path):
            if number == 1 or line.get("kind") == END:
                continue
            group, size = [*group, line], size + len(raw)
            if line["kind"] != BLOB:
                yield group, size
                group, size = [], 0
        if group:
            yield group, size


def read_export(path: Path) -> ExportFile:
    """Read a whole file, and check it. Raise click.ClickException with the line of the first fault."""
    counts: Counter[str] = Counter()
    hashed = hashlib.sha256()
    header: dict[str, Any] = {}
    for number, raw, line in _lines(path):
        if number == 1:
            header = _checked_header(path, line)
        elif line.get("kind") == END:
            if line.get("counts") != counts or line.get("sha256") != hashed.hexdigest():
                raise _fault(path, "it was changed or damaged since it was exported; export again")
            return ExportFile(path, header.get("freeze_id"), hashed.hexdigest(), dict(counts))
        else:
            try:
                from_json(line)
            except ValueError as error:
                raise _fault(path, f"line {number}: {error}") from error
            counts[str(line["kind"])] += 1
        hashed.update(raw)
    raise _fault(path, "it ends too early: the last line with the counts is missing; export again")


def _checked_header(path: Path, line: dict[str, Any]) -> dict[str, Any]:
    if line.get("onthedot") != MARK:
        raise _fault(path, "it is not an export of onthedot; `onthedot export FILE` writes one")
    if line.get("format") != FORMAT:
        raise _fault(path, f"it has format {line.get('format')!r}, and this version knows format {FORMAT}")
    return line


def _lines(path: Path) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    try:
        with path.open("rb") as file:
            number = 0
            while raw := file.readline(_MAX_LINE):
                number += 1
                if not raw.endswith(b"\n"):
                    raise _fault(path, f"it ends in the middle of line {number}; export again")
                yield number, raw, _object(path, number, raw)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be read: {error.strerror}") from error


def _object(path: Path, number: int, raw: bytes) -> dict[str, Any]:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _fault(path, f"line {number} is not JSON; export again") from error
    if not isinstance(line, dict):
        raise _fault(path, f"line {number} is not a JSON object; export again")
    return line


def _fault(path: Path, why: str) -> click.ClickException:
    return click.ClickException(f"{path} cannot be imported: {printable(why)}")
