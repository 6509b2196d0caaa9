"""The files of the console. They are read once in each process, at the first request for one of them."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[2] / "console"
PAGE: Final = "index.html"
CONTENT_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
}
"""The kinds of files that are served. Licences and lists of versions are not."""
_HASH_PLACE: Final = "CONTENT_HASH"
"""The text in the page where the hash of all files goes."""


@dataclass(frozen=True, slots=True)
class ConsoleFile:
    """One file as it is sent."""

    text: str
    content_type: str
    etag: str


@dataclass(frozen=True, slots=True)
class ConsoleFiles:
    """The page, and all other files by their path under the folder of the hash."""

    page: ConsoleFile
    by_path: Mapping[str, ConsoleFile]
    """By `HASH/app.js`. A path that is not a key is answered 404, so no request reaches the file system."""


@cache
def console_files() -> ConsoleFiles:
    """Return the files. The hash is made of all of them, so a changed file gives each file a new path."""
    texts = dict(sorted(_read(FOLDER)))
    content_hash = _hash("\0".join(part for item in texts.items() for part in item))[:16]
    page = texts.pop(PAGE).replace(_HASH_PLACE, content_hash)
    files = {f"{content_hash}/{path}": _file(path, text) for path, text in texts.items()}
    return ConsoleFiles(_file(PAGE, page), files)


def _read(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*"):
        if path.suffix in CONTENT_TYPES and path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_text("utf-8")


def _file(path: str, text: str) -> ConsoleFile:
    return ConsoleFile(text, CONTENT_TYPES[Path(path).suffix], f'"{_hash(text)[:32]}"')


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
