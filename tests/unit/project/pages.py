"""The documentation as tests read it: pages, prose, code blocks, links, paths, and the names in the code."""

import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
PRODUCT = ROOT / "layers" / "core" / "python" / "onthedot"
PAGES = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "localstack/README.md",
    "benchmarks/README.md",
    *sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md")),
]

FENCE = re.compile(r"^```[^\n]*\n.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]+)*/?")
SUFFIXES = (".py", ".md", ".toml", ".yml", ".lock", "Makefile", "Dockerfile")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def text_of(page: str) -> str:
    return (ROOT / page).read_text()


def prose_of(page: str) -> str:
    return FENCE.sub("", text_of(page))


def spans_of(page: str) -> list[str]:
    """The texts in backticks, outside of code blocks."""
    return SPAN.findall(prose_of(page))


def anchors_of(page: str) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links_of(page: str) -> list[str]:
    return [link for link in LINK.findall(prose_of(page)) if not re.match(r"[a-z]+:", link)]


def is_broken(page: str, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (ROOT / page).parent / path if path else ROOT / page
    return not target.exists() or (anchor != "" and anchor not in anchors_of(str(target.resolve().relative_to(ROOT))))


@cache
def files() -> tuple[str, ...]:
    """The repository's files, also those that are not committed yet."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return tuple(path for path in found if (ROOT / path).is_file())


@cache
def names_in_the_code() -> frozenset[str]:
    """Every word of the sources: names, and texts that users see."""
    sources = [path for path in files() if path.endswith(".py") and not path.startswith("tests/unit/project/")]
    texts = [text_of(path) for path in [*sources, "Makefile", "pyproject.toml"]]
    return frozenset(word for text in texts for word in IDENTIFIER.findall(text))


def names_on(page: str) -> set[str]:
    """The words in backticks and code blocks: the names that the page explains."""
    texts = [*spans_of(page), *FENCE.findall(text_of(page))]
    return {word for text in texts for word in IDENTIFIER.findall(text)}


def looks_like_a_path(span: str) -> bool:
    """Whether a span names a file or a folder of the repository, and not a route, a file of the user or a field."""
    if not PATH.fullmatch(span):
        return False
    first = span.split("/", maxsplit=1)[0]
    if first == "build":
        return False  # written by commands
    return span.endswith(SUFFIXES) if first == span else (ROOT / first).exists() or (PRODUCT / first).exists()


def exists(page: str, path: str) -> bool:
    """Whether the path exists from the root, in the package or beside the page; or, for a bare name, anywhere."""
    if any((home / path).exists() for home in (ROOT, PRODUCT, (ROOT / page).parent)):
        return True
    return "/" not in path and any(file.endswith(f"/{path}") for file in files())
