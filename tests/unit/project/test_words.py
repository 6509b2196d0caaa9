"""Hold docstrings and comments to the plain words of ARCHITECTURE.md's glossary."""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[3]
PRODUCT = ("layers", "functions", "infra", "localstack", "benchmarks")
LINES_PER_PAGE = 60

VAGUE = re.compile(
    r"\b(whoever|whomever|somebody|nobody|everybody|those (?:who|that)|(?:who|that) which|"
    r"what (?:is|was|are|were|has|had|stands|comes|came|goes|went|runs|ran|fails|failed|waits|waited))\b",
    re.IGNORECASE,
)
"""Pronouns that hide the actor or the thing. Name the API, the dispatcher, the worker, the record."""

REPLACED = {
    r"hand(?:s|ed|ing)?[ -]over": "send (to a queue), assign (to a worker)",
    r"hand(?:s|ed|ing)? (?:it |them |runs? )?on": "send",
    r"tell(?:s|ing)?|told": "notify (children), log, publish (events), write, report",
    r"hear(?:s|d|ing)?": "learn of, receive, subscribe",
    r"admi(?:t|ts|tted|ssion)": "still scheduled, limits",
    r"held back|holds? back": "waits at a gate, waits on a list",
    r"desk|bench|tray|toolbox": "work source, running tasks, lease batch, target factories",
    r"circle of trust|heart of|good-bye|last words": "say it literally",
    r"staging|staged": "claim early (stage names a deployment)",
}
"""Words that the glossary replaces, as patterns, with the word to write instead."""

ALLOWED: dict[str, str] = {}
"""Exceptions: `path:first words of the text` and the reason."""


class Text(NamedTuple):
    """A docstring, a field docstring or a comment."""

    line: int
    text: str


def python_files(*folders: str) -> list[str]:
    listed = subprocess.run(
        [
            "git",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "--",
            *(f"{folder}/*.py" for folder in folders),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return sorted(path for path in set(listed) if (ROOT / path).is_file())


@cache
def texts(path: str) -> tuple[Text, ...]:
    return tuple(read_texts(path))


def read_texts(path: str) -> Iterator[Text]:
    source = (ROOT / path).read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (
                Text(part.lineno, part.value.value)
                for part in node.body
                if isinstance(part, ast.Expr)
                and isinstance(part.value, ast.Constant)
                and isinstance(part.value.value, str)
            )
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(token.start[0], token.string)


def is_allowed(path: str, text: Text) -> bool:
    return any(f"{path}:{text.text}".startswith(exception) for exception in ALLOWED)


@pytest.mark.parametrize("path", python_files(*PRODUCT, "tests"))
def test_no_vague_pronoun_in(path: str) -> None:
    found = [
        f"{path}:{t.line}: {m.group(0)!r}"
        for t in texts(path)
        if (m := VAGUE.search(t.text)) and not is_allowed(path, t)
    ]
    assert not found


@pytest.mark.parametrize("path", python_files(*PRODUCT))
def test_the_glossarys_words_in(path: str) -> None:
    found = [
        f"{path}:{t.line}: {m.group(0)!r}; write: {instead}"
        for t in texts(path)
        for pattern, instead in REPLACED.items()
        if (m := re.search(rf"\b(?:{pattern})\b", t.text, re.IGNORECASE)) and not is_allowed(path, t)
    ]
    assert not found


@pytest.mark.parametrize("path", python_files(*PRODUCT))
def test_short_sentences_in(path: str) -> None:
    """Allow one semicolon on a page."""
    pages = -(-len((ROOT / path).read_text().splitlines()) // LINES_PER_PAGE)
    found = [f"{path}:{t.line}" for t in texts(path) if ";" in t.text and "noqa" not in t.text]
    assert len(found) <= pages, found


@pytest.mark.parametrize("path", [path for path in python_files("layers") if path.endswith("__init__.py")])
def test_a_room_says_what_belongs_there(path: str) -> None:
    assert len((ast.get_docstring(ast.parse((ROOT / path).read_text())) or "").split()) >= 5


@pytest.mark.parametrize("path", python_files(*PRODUCT))
def test_one_docstring_for_each_field_in(path: str) -> None:
    """Find field docstrings that describe several fields: they end with a colon or name two things."""
    found = []
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if not isinstance(node, ast.ClassDef):
            continue
        for part, following in zip(node.body, node.body[1:], strict=False):
            is_docstring = isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
            if is_docstring and str(part.value.value).rstrip().endswith(":") and isinstance(following, ast.AnnAssign):  # type: ignore[attr-defined]
                found.append(f"{path}:{part.lineno}")
    assert not found
