"""Write the pages of `docs/reference`: `make reference`."""

from pathlib import Path

from docs.generator.commands import commands_page
from docs.generator.context import context_page
from docs.generator.events import events_page
from docs.generator.rest import rest_page
from docs.generator.rest_types import types_page

REFERENCE = Path(__file__).parents[1] / "reference"
PAGES = {
    "rest.md": rest_page,
    "rest-types.md": types_page,
    "commands.md": commands_page,
    "context-values.md": context_page,
    "events.md": events_page,
}


def main() -> None:
    REFERENCE.mkdir(exist_ok=True)
    for name, write in PAGES.items():
        (REFERENCE / name).write_text(write())


if __name__ == "__main__":
    main()
