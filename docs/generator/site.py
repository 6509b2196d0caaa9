"""Collect the pages of the site in one folder: docs/, the pages beside it, and the reference made from the code.

Pages are written for GitHub, so their links are rewritten where the site has another layout. `make docs` runs this
before mkdocs.
"""

import posixpath
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from docs.generator.commands import commands_page
from docs.generator.context import context_page
from docs.generator.events import events_page
from docs.generator.rest import rest_page
from docs.generator.rest_types import types_page

REFERENCE: Final[Mapping[str, Callable[[], str]]] = {
    "rest.md": rest_page,
    "rest-types.md": types_page,
    "commands.md": commands_page,
    "context-values.md": context_page,
    "events.md": events_page,
}
"""The pages of the reference. They are written when the site is built, and not stored."""
ROOT: Final = Path(__file__).parents[2]
OUTSIDE: Final = {
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "localstack/README.md": "local-aws.md",
    "benchmarks/README.md": "all-benchmarks.md",
    "tests/model/gates/README.md": "model-of-gates.md",
}
"""The pages outside of docs/ by their paths in the repository, with their paths in the site."""
_IN_SITE: Final = {site: path for path, site in OUTSIDE.items()}
_LINK: Final = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<path>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
_FENCE: Final = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)


def collect(into: Path) -> None:
    """Write all pages and images of the site into a folder, which is emptied first.

    Raise LookupError when a field, parameter, command, option or context value has no text.
    """
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(ROOT / "docs", into, ignore=shutil.ignore_patterns("generator", "theme"))
    for path, place in OUTSIDE.items():
        shutil.copy(ROOT / path, into / place)
    for page in into.rglob("*.md"):
        parts = _FENCE.split(page.read_text())
        parts[::2] = [rewritten(part, page.relative_to(into).as_posix()) for part in parts[::2]]
        page.write_text("".join(parts))
    (into / "reference").mkdir()
    for name, write in REFERENCE.items():
        (into / "reference" / name).write_text(write())


def rewritten(text: str, place: str) -> str:
    """Return the text with links that work at this place of the site."""

    def lead(found: re.Match[str]) -> str:
        if not found["path"] or ":" in found["path"]:
            return found[0]
        target = place_of(posixpath.normpath(posixpath.join(posixpath.dirname(path_of(place)), found["path"])))
        if target is None:
            # Sources are not part of the site. The text names them.
            return found["text"]
        way = posixpath.relpath(target, posixpath.dirname(place) or ".")
        return f"{found['image']}[{found['text']}]({way}{found['anchor'] or ''})"

    return _LINK.sub(lead, text)


def path_of(place: str) -> str:
    return _IN_SITE.get(place, f"docs/{place}")


def place_of(path: str) -> str | None:
    """Return the path in the site of a file of the repository, or None when it is not there."""
    if path == "README.md":
        return "README.md"
    if path in OUTSIDE:
        return OUTSIDE[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else None


if __name__ == "__main__":
    collect(Path(sys.argv[1]))
