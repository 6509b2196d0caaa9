"""Every code block of the pages is run, or says why not; and the commands in blocks that are not run exist."""

import ast
import re
import shlex
from itertools import takewhile
from pathlib import Path

import click
import pytest

from onthedot.cli.main import main
from tests.pages.blocks import COMMANDS, NOT_RUN, OUTPUT, PAGES, ROOT, RUN_BY, RUNS_ON, SAMPLE, Block, blocks_of
from tests.pages.test_pages import IN_BOTH_HOMES, MOVING, RUN
from tests.pages.walk import VARIABLES

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
COMMAND_BLOCKS = [block for block in BLOCKS if block.language in COMMANDS]
MARKED = [block for block in BLOCKS if block.marks]
LEFT_OUT = [block for block in BLOCKS if NOT_RUN in block.marks]
ONTHEDOT = re.compile(
    r"^(?:\$ )?(?:[A-Za-z_]+=\S*?\$\(|env |export |[A-Za-z_]+=\S+ )*(?:\.venv/bin/)?onthedot ", re.MULTILINE
)
MAKE = re.compile(r"^make ([a-z]+)", re.MULTILINE)


def place(block: Block) -> str:
    return block.place


def onthedot_commands(block: Block) -> list[list[str]]:
    """Return the words after `onthedot` of each command in a block."""
    text = block.text.replace("\\\n", " ")
    return [words_of(text[found.end() :]) for found in ONTHEDOT.finditer(text)]


def words_of(text: str) -> list[str]:
    """Return the words of the command at the beginning of a text."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&<>()\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    return list(takewhile(lambda word: word[0] not in ";|&<>()\n#" if word else True, lexer))


def refusal(words: list[str]) -> str | None:
    """Return what the command line has against these words, or None. Nothing is run."""
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group) and not words[0].startswith("--"):
        name, *words = words
        found = command.get_command(context, name)
        if found is None:
            return f"there is no command {name}"
        command = found
    context = click.Context(command, **command.context_settings)
    try:
        command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        return error.format_message()
    return None


@pytest.mark.parametrize("block", MARKED, ids=place)
def test_a_mark_is_known_and_has_its_reason(block: Block) -> None:
    assert set(block.marks) <= {NOT_RUN, RUN_BY, RUNS_ON, OUTPUT, SAMPLE}
    assert all(block.marks[mark] for mark in (NOT_RUN, RUN_BY, SAMPLE) if mark in block.marks)


@pytest.mark.parametrize("block", [block for block in BLOCKS if RUN_BY in block.marks], ids=place)
def test_the_test_that_runs_the_block_exists(block: Block) -> None:
    assert (ROOT / block.marks[RUN_BY]).is_file()


@pytest.mark.parametrize("block", COMMAND_BLOCKS, ids=place)
def test_the_commands_of_the_block_exist(block: Block) -> None:
    """Also of a block that needs an account: a command or an option with another name is found."""
    assert [text for words in onthedot_commands(block) if (text := refusal(words))] == []
    targets = (ROOT / "Makefile").read_text()
    assert [name for name in MAKE.findall(block.text) if not re.search(rf"^{name}:", targets, re.MULTILINE)] == []


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "python"], ids=place)
def test_python_can_be_read(block: Block) -> None:
    ast.parse(block.text)


def test_every_page_with_commands_is_followed_or_marked() -> None:
    followed = {*RUN, *IN_BOTH_HOMES, MOVING, VARIABLES}
    assert [block.place for block in COMMAND_BLOCKS if block.is_run_here and block.page not in followed] == []


def test_only_blocks_that_need_an_account_or_a_network_are_left_out() -> None:
    """List the reasons. A new one needs a thought, and a line here."""
    assert {block.marks[NOT_RUN] for block in LEFT_OUT} == {
        "asks a package index",
        "asks at a terminal",
        "changes the clone, and needs a stage in an AWS account",
        "needs a stage in an AWS account",
        "needs an AWS account",
        "shows a refusal",
        "shows an incident, which a fresh server does not have",
        "the runbook has no job at hand",
        "these are the commands that run the tests",
    }
    run = [block for block in COMMAND_BLOCKS if block.is_run_here]
    assert len(run) > 2 * len(LEFT_OUT)


def test_blocks_and_marks_are_read(tmp_path: Path) -> None:
    """Guard the tests above."""
    page = "# A\n\n<!-- run by: x -->\n\n```bash\na\n```\n\n## B\n\n<!-- not run: y -->\n\n```bash\nb\n```\n\n"
    page += "Text.\n\n```json\n{}\n```\n"
    first, second, third = blocks_of("README.md", page)
    assert (first.text, first.marks, first.line) == ("a\n", {"run by": "x"}, 5)
    assert (second.marks, second.is_run_here) == ({"not run": "y"}, False)
    assert third.marks == {"not run": "y"}
    assert refusal(["schedule", "--no-such-option"]) is not None
    assert refusal(["tokens", "no-such-command"]) is not None
    assert refusal(["tokens", "list", "--stage", "prod"]) is None
    assert onthedot_commands(
        Block("", 1, "bash", "x=$(.venv/bin/onthedot get a)\nonthedot run b # c\n", {}, False)
    ) == [
        ["get", "a"],
        ["run", "b"],
    ]
