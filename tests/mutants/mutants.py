"""The list of mutants, and how one of them changes the product.

A mutant names no file: its `old` text must stand in exactly one file, once. Whitespace in it stands for any other, so
that a move to another module or another depth of indentation needs no change of the list.
"""

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = (Path("layers/core/python/onthedot"), Path("functions"))
"""The folders with the product, below the root of the repository or of a copy."""
LIST: Final = Path(__file__).with_name("mutants.toml")


class BadList(Exception):
    """An entry of the list does not fit the product."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One planted bug."""

    id: str
    breaks: str
    """The promise that it breaks, in one sentence."""
    old: str
    new: str
    tests: tuple[str, ...]
    """The groups of tests that should catch it, tried in this order."""


@dataclass(frozen=True, slots=True)
class Change:
    """The file that a mutant changes, below the root, and its text before and after."""

    path: Path
    before: str
    after: str


def read_list(path: Path = LIST) -> tuple[dict[str, list[str]], list[Mutant]]:
    """Return the groups of tests, each with the arguments for pytest, and the mutants."""
    content: dict[str, Any] = tomllib.loads(path.read_text())
    mutants = [
        Mutant(one["id"], one["breaks"], one["old"], one["new"], tuple(one["tests"])) for one in content["mutant"]
    ]
    return content["groups"], mutants


def product_of(root: Path) -> dict[Path, str]:
    """Return the text of each Python file of the product, by its path below the root."""
    files = (file for folder in SOURCES for file in sorted((root / folder).rglob("*.py")))
    return {file.relative_to(root): file.read_text() for file in files}


def change_of(mutant: Mutant, product: dict[Path, str]) -> Change:
    """Return the change that the mutant makes. Raise BadList unless its text is found exactly once."""
    words = mutant.old.split()
    wanted = re.compile(r"\s+".join(map(re.escape, words)))
    near = ((path, text) for path, text in product.items() if words[0] in text and words[-1] in text)
    found = [(path, match) for path, text in near for match in wanted.finditer(text)]
    if len(found) != 1:
        places = ", ".join(sorted({str(path) for path, _ in found}))
        raise BadList(f"{mutant.id}: its text is found {len(found)} times{places and ': '}{places}")
    path, match = found[0]
    text = product[path]
    after = text[: match.start()] + _indented(mutant.new, text, match.start()) + text[match.end() :]
    try:
        ast.parse(after)
    except SyntaxError as error:
        raise BadList(f"{mutant.id}: after it, {path} is no Python: {error}") from error
    if after.split() == text.split():
        raise BadList(f"{mutant.id}: it changes nothing in {path}")
    return Change(path, text, after)


def problems(groups: dict[str, list[str]], mutants: Sequence[Mutant], root: Path = ROOT) -> Iterator[str]:
    """Yield what is wrong with the list: it must fit the product and the tests as they are."""
    product = product_of(root)
    ids = [mutant.id for mutant in mutants]
    yield from (f"{name}: two mutants have this id" for name in sorted({one for one in ids if ids.count(one) > 1}))
    for mutant in mutants:
        try:
            change_of(mutant, product)
        except BadList as error:
            yield str(error)
        yield from (f"{mutant.id}: there is no group {name}" for name in mutant.tests if name not in groups)
        if not mutant.tests:
            yield f"{mutant.id}: it names no tests"
    for name, arguments in groups.items():
        paths = [one.partition("::")[0] for one in arguments if one.startswith("tests/")]
        yield from (f"group {name}: there is no {path}" for path in paths if not (root / path).exists())


def _indented(new: str, text: str, at: int) -> str:
    """Return the new text with the indentation of the line that it begins in."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.indent(textwrap.dedent(new).strip(), indent).lstrip()
