"""Read a JSON document or a query as a model. Every mistake becomes a Problem that names its field and the remedy."""

from collections.abc import Mapping, Sequence, Set
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from onthedot.api.core.body import read_object
from onthedot.api.core.errors import MAX_DETAILS, echo
from onthedot.api.core.fields import Fields
from onthedot.api.core.suggestions import AnyModel, field_names, near_field
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.targets.types import TYPES

Model = TypeVar("Model", bound=Fields)
SMALL_BODY: Final = 64 * 1024
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
"""The message for each of pydantic's error types. Types that are not here keep pydantic's own message."""
_KEY: Final = "[key]"
"""pydantic's mark for an entry whose key is wrong, not its value."""


def read_model(model: type[Model], document: Mapping[str, Any]) -> Model:
    """Return the document as a model. Raise InvalidRequest that names every field at fault."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise InvalidRequest(*problems_in(error, model)) from error


def read_shape(shape: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the document that a TypedDict describes, converted by its types.

    Raise InvalidRequest that names every field at fault.
    """
    try:
        return _adapter(shape).validate_python(document)
    except ValidationError as error:
        raise InvalidRequest(*problems_in(error, shape)) from error


@cache
def _adapter(shape: Any) -> TypeAdapter[dict[str, Any]]:
    """Return what reads a shape. It is made at the first request, because making it takes a millisecond or two."""
    return TypeAdapter(shape)


def read_without_nulls(model: type[Model], document: Mapping[str, Any], nullable: Set[str] = frozenset()) -> Model:
    """Return the document as a model, and refuse null for all fields but the nullable ones. Raise InvalidRequest."""
    if problems := null_problems(model, document, nullable):
        raise InvalidRequest(*problems)
    return read_model(model, document)


def read_body(model: type[Model], body: bytes, limit: int = SMALL_BODY, nullable: Set[str] = frozenset()) -> Model:
    """Return a body as a model. No body counts as an empty object. Raise ApiError and InvalidRequest."""
    return read_without_nulls(model, read_object(body, limit) if body.strip() else {}, nullable)


def read_no_fields(body: bytes) -> None:
    """Check the body of a call that takes no fields: none, or an empty object. Raise ApiError and InvalidRequest."""
    if body.strip() and (document := read_object(body, SMALL_BODY)):
        refuse_unknown_fields(document, [])


def null_problems(model: AnyModel, document: Mapping[str, Any], nullable: Set[str]) -> list[Problem]:
    """Return a problem for each field that is null and must not be.

    In models of pydantic, None marks a field that was left out, so null would be read as a missing field.
    """
    names = set(field_names(model)) - nullable
    return [Problem(name, "is null; leave it out") for name in sorted(names) if document.get(name, name) is None]


def choice_problems(document: Mapping[str, Any], names: Sequence[str]) -> list[Problem]:
    """Return a problem for each of these fields when the document has more than one of them."""
    present = [name for name in names if name in document]
    if len(present) < 2:
        return []
    return [Problem(name, f"only one of {', '.join(present)} may be given; keep one of them") for name in present]


def refuse_unknown_fields(document: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise InvalidRequest for fields that are not known. Use it for a document whose fields are read one by one."""
    close = {name: get_close_matches(name[:64], known, n=1) for name in document if name not in known}
    problems = [Problem(echo(name), _unknown_field(near[0] if near else None)) for name, near in close.items()]
    if problems:
        raise InvalidRequest(*problems)


def problems_in(error: ValidationError, model: AnyModel | None = None) -> list[Problem]:
    """Return one problem for each mistake that pydantic found, at most as many as an answer lists."""
    found = error.errors(include_url=False, include_input=False)[:MAX_DETAILS]
    return [Problem(_field(_location(entry)), _message(entry, model)) for entry in found]


def _location(entry: ErrorDetails) -> tuple[int | str, ...]:
    """Return the place of a mistake as users know it.

    The place that pydantic reports contains the type of a target as a step of its own, which the user's document does
    not have. When the type itself is wrong, the place lacks `type`, which is added here.
    """
    where = entry["loc"]
    if entry["type"].startswith("union_tag"):
        return (*where, "type")
    is_typed = where[:1] == ("target",) and len(where) > 1 and where[1] in TYPES
    return (where[0], *where[2:]) if is_typed else where


def _field(location: tuple[int | str, ...]) -> str:
    return ".".join(echo(str(part)) for part in location if part != _KEY) or "body"


def _message(entry: ErrorDetails, model: AnyModel | None) -> str:
    if entry["type"] == "extra_forbidden":
        return _unknown_field(None if model is None else near_field(model, entry["loc"]))
    advice = _ADVICE.get(entry["type"])
    context: dict[str, Any] = entry.get("ctx", {})
    if "tag" in context:
        context["tag"] = echo(context["tag"])
    return entry["msg"] if advice is None else advice.format(**context)


def _unknown_field(near: str | None) -> str:
    return "unknown field; " + ("remove it" if near is None else f"did you mean {near}?")
