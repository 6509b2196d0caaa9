"""The pages of the reference by their names in the site. They are written when the site is built, and not stored."""

from collections.abc import Callable, Mapping
from typing import Final

from docs.generator.commands import commands_page
from docs.generator.context import context_page
from docs.generator.events import events_page
from docs.generator.rest import rest_page
from docs.generator.rest_types import types_page

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "rest.md": rest_page,
    "rest-types.md": types_page,
    "commands.md": commands_page,
    "context-values.md": context_page,
    "events.md": events_page,
}
