"""The meanings of REST fields and parameters: from the model, or from `fields.toml`."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

PARAMETERS = "parameters"
FIELDS = "fields"


class Undocumented(LookupError):
    """Fields or parameters have no meaning anywhere."""

    def __init__(self, *places: str) -> None:
        super().__init__(
            f"not documented: {', '.join(places)}. Give each a description in its model, or a line in "
            f"docs/generator/fields.toml under [{FIELDS}], or under the name of its type where the meaning is special"
        )
        self.places = places


@cache
def meanings() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(Path(__file__).with_name("fields.toml").read_text())


def meaning_of(place: str, name: str, schema: Mapping[str, Any]) -> str:
    """Return the meaning of a field of a type, or of a parameter. Raise Undocumented when it has none."""
    given = schema.get("description")
    if given:
        return str(given)
    for known in (place, *([] if place == PARAMETERS else [FIELDS])):
        if name in meanings().get(known, {}):
            return meanings()[known][name]
    raise Undocumented(f"{place}.{name}")
