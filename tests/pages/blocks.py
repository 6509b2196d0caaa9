"""The code blocks of the pages, with the marks that say how a test runs them.

A mark is an HTML comment. Above a block it counts for the block, below a heading for all blocks of the section:

    <!-- not run: needs an AWS account -->      no test can run it; the reason is for readers of the source
    <!-- run by: tests/e2e/test_deploy_page.py -->   a test of its own runs it
    <!-- runs on -->                            a program for a terminal of its own
    <!-- sample output: of an incident -->      the commands are run, and their output is another one here
    <!-- output -->                             the output of the last block that was run, where prose is in between
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "localstack/README.md",
    *sorted(
        path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "reference"
    ),
]
COMMANDS = frozenset({"bash", "console"})
OUTPUTS = frozenset({"", "json", "text"})
NOT_RUN, RUN_BY, RUNS_ON, OUTPUT, SAMPLE = "not run", "run by", "runs on", "output", "sample output"

_LINE = re.compile(r"^(?:```(?P<language>\w*)|(?P<level>#+) .*|<!-- (?P<mark>[a-z ]+?)(?:: (?P<reason>.*?))? -->)$")


@dataclass(frozen=True)
class Block:
    """One code block."""

    page: str
    line: int
    language: str
    text: str
    marks: dict[str, str]
    """Its marks with their reasons."""
    follows: bool
    """Whether nothing but empty lines is between it and the block before."""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_run_here(self) -> bool:
        return NOT_RUN not in self.marks and RUN_BY not in self.marks


def blocks_of(page: str, text: str | None = None) -> list[Block]:
    return list(_read(page, (ROOT / page).read_text() if text is None else text))


def _read(page: str, text: str) -> Iterator[Block]:
    lines = iter(enumerate(text.splitlines(), start=1))
    section: dict[str, str] = {}
    marks: dict[str, str] = {}
    after_heading = follows = False
    for number, line in lines:
        found = _LINE.match(line)
        if found and found["language"] is not None:
            body = "".join(f"{each}\n" for each in _until_the_fence(lines))
            yield Block(page, number, found["language"], body, {**section, **marks}, follows)
            marks, follows, after_heading = {}, True, False
        elif found and found["level"]:
            section, marks, after_heading, follows = {}, {}, True, False
        elif found and found["mark"]:
            (section if after_heading else marks)[found["mark"]] = found["reason"] or ""
        elif line.strip():
            marks, after_heading, follows = {}, False, False


def _until_the_fence(lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    for _, line in lines:
        if line == "```":
            return
        yield line
