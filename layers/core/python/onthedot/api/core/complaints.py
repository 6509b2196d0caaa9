"""Pydantic's errors as problems: the field by its dotted name, and what to do about it."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from onthedot.api.core.errors import MAX_DETAILS, echo
from onthedot.domain.errors import Problem
from onthedot.domain.targets.types import TYPES

_ADVICE: Final[Mapping[str, str]] = {
    "missing": "is missing; add it",
    "string_type": "is not text; send a string in quotes",
    "string_too_short": "is empty; give at least {min_length} character",
    "string_too_long": "is too long; give at most {max_length} characters",
    "int_type": "is not a whole number; send one without quotes and fraction",
    "int_from_float": "is not a whole number; send one without quotes and fraction",
    "float_type": "is not a number; send one without quotes",
    "finite_number": "is not finite; send a smaller number",
    "bool_type": "is neither true nor false; send one of them, without quotes",
    "dict_type": "is not an object; send {{…}}",
    "model_type": "is not an object; send {{…}}",
    "model_attributes_type": "is not an object; send {{…}}",
    "list_type": "is not a list; send […]",
    "too_long": "has too many entries; give at most {max_length}",
    "too_short": "has too few entries; give at least {min_length}",
    "greater_than_equal": "is too small; give {ge:.12g} or more",
    "less_than_equal": "is too large; give {le:.12g} or less",
    "union_tag_not_found": "is missing; add it",
    "union_tag_invalid": "unknown type {tag!r}; give {expected_tags}",
    "literal_error": "is not one of the choices; give {expected}",
    "value_error": "{error}",
}
_KEY: Final = "[key]"
"""How pydantic marks that the key of an entry is wrong, not its value."""


def problems_of(error: ValidationError, known: Iterable[str]) -> list[Problem]:
    """One problem for each mistake, as far as an answer lists them."""
    names = list(known)
    found = error.errors(include_url=False, include_input=False)[:MAX_DETAILS]
    return [Problem(_field(_location(entry)), _message(entry, names)) for entry in found]


def _location(entry: ErrorDetails) -> tuple[int | str, ...]:
    """Pydantic names a target's type where users write none, and not where it is the type that is wrong."""
    where = entry["loc"]
    if entry["type"].startswith("union_tag"):
        return (*where, "type")
    is_typed = where[:1] == ("target",) and len(where) > 1 and where[1] in TYPES
    return (where[0], *where[2:]) if is_typed else where


def _field(location: tuple[int | str, ...]) -> str:
    return ".".join(echo(str(part)) for part in location if part != _KEY) or "body"


def _message(entry: ErrorDetails, known: list[str]) -> str:
    if entry["type"] == "extra_forbidden":
        return unknown(str(entry["loc"][-1]), known if len(entry["loc"]) == 1 else [])
    advice = _ADVICE.get(entry["type"])
    context: dict[str, Any] = entry.get("ctx", {})
    if "tag" in context:
        context["tag"] = echo(context["tag"])
    return entry["msg"] if advice is None else advice.format(**context)


def unknown(name: str, known: list[str]) -> str:
    """What to say of a field that is not one of these."""
    close = get_close_matches(name[:64], known, n=1)
    return "unknown field; " + (f"did you mean {close[0]}?" if close else "remove it")
