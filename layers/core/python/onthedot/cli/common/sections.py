"""Commands with many options, whose help text shows the options in sections."""

from collections.abc import Iterable
from typing import Any, Final

import click

OTHER: Final = "Options"
"""The section of options that name none."""
WIDE: Final = {"max_content_width": 100}
"""The settings of a command whose help text may be wider than click's 80 columns."""


class SectionOption(click.Option):
    """An option of a section of the help text."""

    def __init__(self, *arguments: Any, section: str, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help text shows its options in sections, in the order of the first option of each."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section after another, with one column of names."""
        rows = {
            title: [_row(option, ctx) for option in each] for title, each in sections_of(self.get_params(ctx)).items()
        }
        width = max(len(name) for section in rows.values() for name, _ in section)
        for title, section in rows.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in section])


def sections_of(parameters: Iterable[click.Parameter]) -> dict[str, list[click.Option]]:
    """Return the options that a help text shows, by the titles of their sections."""
    found: dict[str, list[click.Option]] = {}
    for option in parameters:
        if isinstance(option, click.Option) and not option.hidden:
            title = option.section if isinstance(option, SectionOption) else OTHER
            found.setdefault(title, []).append(option)
    return found


def _row(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    return option.get_help_record(ctx) or (option.opts[0], "")
