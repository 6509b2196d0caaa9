"""Every code block of the pages is run, or says why not; and the commands in blocks that are not run exist."""

import re
import shlex
from itertools import takewhile

import click

from onthedot.cli.main import main
from tests.pages.blocks import COMMANDS, NOT_RUN, OUTPUT, PAGES, ROOT, RUN_BY, RUNS_ON, SAMPLE, Block, blocks_of
from tests.pages.test_pages import IN_BOTH_HOMES, MOVING, RUN
from tests.pages.walk import VARIABLES

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
COMMAND_BLOCKS = [block for block in BLOCKS if block.language in COMMANDS]
REASONED = {NOT_RUN, RUN_BY, SAMPLE}
ONTHEDOT = re.compile(
    r"^(?:\$ )?(?:[A-Za-z_]+=\S*?\$\(|env |export |[A-Za-z_]+=\S+ )*(?:\.venv/bin/)?onthedot ", re.MULTILINE
)
MAKE = re.compile(r"^make ([a-z]+)", re.MULTILINE)


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


def test_marks_are_known_and_have_their_reasons() -> None:
    marked = [block for block in BLOCKS if block.marks]
    assert [block.place for block in marked if not set(block.marks) <= {*REASONED, RUNS_ON, OUTPUT}] == []
    assert [block.place for block in marked for mark in REASONED & block.marks.keys() if not block.marks[mark]] == []


def test_the_tests_that_run_blocks_exist() -> None:
    named = [(block.place, block.marks[RUN_BY]) for block in BLOCKS if RUN_BY in block.marks]
    assert [(place, file) for place, file in named if not (ROOT / file).is_file()] == []


def test_the_commands_of_the_blocks_exist() -> None:
    """Also of a block that needs an account: a command or an option with another name is found."""
    words = [(block.place, words) for block in COMMAND_BLOCKS for words in onthedot_commands(block)]
    assert [(place, text) for place, each in words if (text := refusal(each))] == []
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    made = [(block.place, name) for block in COMMAND_BLOCKS for name in MAKE.findall(block.text)]
    assert [(place, name) for place, name in made if name not in targets] == []


def test_every_page_with_commands_is_followed_or_marked() -> None:
    followed = {*RUN, *IN_BOTH_HOMES, MOVING, VARIABLES}
    assert [block.place for block in COMMAND_BLOCKS if block.is_run_here and block.page not in followed] == []
