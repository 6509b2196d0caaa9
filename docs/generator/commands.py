"""The page of all commands: their help texts and options, made from the commands themselves."""

import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

import click
from docs.generator.markdown import code, page, table

from onthedot.cli.commands import SECTIONS
from onthedot.cli.main import main
from onthedot.cli.options import sections_of

_TEXT: Final = """\
All commands and options, made from the commands themselves: `onthedot COMMAND --help` says the same. How to use them:
[commands.md](../commands.md)."""
_EXAMPLES: Final = re.compile(r"^(Examples?\b.*):\n(.*)\Z", re.MULTILINE | re.DOTALL)


class NoHelp(LookupError):
    """A command or an option has no help text."""


def commands_page() -> str:
    """Return the page. Raise NoHelp when a command or an option says nothing about itself."""
    parts: list[str] = []
    for title, section in SECTIONS.items():
        parts.append(f"## {title}")
        for name in section:
            command = main.get_command(click.Context(main), name)
            assert command is not None
            parts.extend(_command(f"onthedot {name}", command, "###"))
    return page("Commands", _TEXT, *parts)


def _command(name: str, command: click.Command, level: str) -> Iterator[str]:
    yield f"{level} {name}"
    yield from _help(name, command)
    context = click.Context(command, info_name=name, **command.context_settings)
    arguments = " ".join(command.collect_usage_pieces(context))
    yield code("text", f"{name} {arguments}")
    sections = sections_of(command.params)
    for title, options in sections.items():
        yield "" if len(sections) == 1 else f"*{title}*"
        yield table(("option", "meaning"), (_option(name, option, context) for option in options))
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            assert inner is not None
            yield from _command(f"{name} {each}", inner, level + "#")


def _help(name: str, command: click.Command) -> Iterator[str]:
    text = inspect.cleandoc(command.help or "").replace("\b\n", "").replace("\b", "")
    if not text:
        raise NoHelp(f"{name} has no help text")
    examples = _EXAMPLES.search(text)
    prose = text[: examples.start()] if examples else text
    yield _linked(prose.strip())
    if examples:
        yield f"{examples[1]}:"
        yield code("text", inspect.cleandoc(examples[2]))


def _linked(prose: str) -> str:
    return prose.replace("<", "&lt;")


def _option(name: str, option: click.Option, context: click.Context) -> tuple[str, str]:
    record: Any = option.get_help_record(context)
    if record is None or not record[1] or record[1].startswith("["):
        raise NoHelp(f"{name} {'/'.join(option.opts)} has no help text")
    return f"`{record[0]}`", record[1]
