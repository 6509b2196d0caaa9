"""Read a body or a query as a model. Every mistake becomes a Problem that names its field; no body crashes it."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from typing_extensions import is_typeddict

from onthedot.api.errors import MAX_DETAILS, bad_json, echo, too_large
from onthedot.api.fields import Fields
from onthedot.api.http import Request
from onthedot.api.route import Route
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.targets.types import TYPES

MAX_DEPTH: Final = 100
MAX_DIGITS: Final = 600
_canonical: Final = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
_SURROGATES: Final = "has half of a surrogate pair, which is not text; send the whole character"
_NOT_FINITE: Final = "is not a number JSON can carry (NaN, infinite or too long); send a smaller one"


def read_object(body: bytes, limit: int, depth: int = MAX_DEPTH) -> dict[str, Any]:
    """Raise ApiError: 413 over the limit, 400 for all other mistakes."""
    if len(body) > limit:
        raise too_large("body", limit, len(body))
    document = _parse(_decode(body))
    if not isinstance(document, dict):
        raise bad_json("body", "is not a JSON object; send {…} with the fields of this call")
    check_values(document, depth)
    return document


def check_values(document: Any, depth: int = MAX_DEPTH) -> None:
    """Raise ApiError 400 for a document that is nested too deep, or has a value that JSON cannot express.

    Encoding the whole document is much faster than checking each value. So the values are checked only when the
    encoding fails, to find the value at fault.
    """
    if _is_deeper(document, depth):
        raise bad_json("body", f"is nested deeper than {depth} levels; flatten it")
    try:
        canonical(document)
    except ValueError as error:
        field, message = next(_find_unfit(document))
        raise bad_json(field, message) from error


def canonical(value: Any) -> bytes:
    """Return the one spelling of a JSON value. Raise ValueError for a value that is not JSON or not UTF-8."""
    return _canonical(value).encode()


def _decode(body: bytes) -> str:
    if not body.strip():
        raise bad_json("body", "is empty; send a JSON object")
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise bad_json("body", f"is not UTF-8 at byte {error.start}; encode it as UTF-8") from error


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_int=_parse_int)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise bad_json("body", f"is not JSON at {where}: {error.msg}; correct it there") from error
    except RecursionError as error:
        raise bad_json("body", f"is nested deeper than {MAX_DEPTH} levels; flatten it") from error


def _parse_int(digits: str) -> float:
    """Infinity stands for a number with more digits than the interpreter reads. It is refused later."""
    return int(digits) if len(digits) <= MAX_DIGITS else math.inf


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise bad_json(twice, "is given twice in one object; keep one of them")
    return found


def _is_deeper(document: Any, levels: int) -> bool:
    level = [document]
    for _ in range(levels):
        level = [child for parent in level for child in _children(parent) if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def _children(parent: Any) -> Any:
    return parent.values() if isinstance(parent, dict) else parent


def _find_unfit(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _find_unfit(key, f"{path}.{key}".lstrip("."))
            yield from _find_unfit(child, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _find_unfit(child, f"{path}.{index}".lstrip("."))
    elif isinstance(value, float) and not math.isfinite(value):
        yield path or "body", _NOT_FINITE
    elif isinstance(value, str) and not _is_text(value):
        yield path or "body", _SURROGATES


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


_LONGEST: Final = 64
"""Characters of a name that are compared."""

AnyModel = Any
"""A model of pydantic, or a TypedDict."""
Models = list[AnyModel]


def field_names(model: AnyModel) -> list[str]:
    """Return the names as users write them."""
    return list(_types_of(model))


def near_field(model: AnyModel, location: Sequence[int | str]) -> str | None:
    # A name inside of an object comes first: `max_retries` means `retry.max_retries`, and not `max_runs`.
    models: Models = [model]
    for part in location[:-1]:
        models = _inside(models, part)
    name = str(location[-1])[:_LONGEST]
    own = [field for one in models for field in field_names(one)]
    nested = dict(_nested(models))
    if name in nested:
        return nested[name]
    return _nearest(name, {**nested, **{field: field for field in own}})


def _inside(models: Models, part: int | str) -> Models:
    """Return the models below one step of a place: an entry of a list, the type of a target, or a field."""
    if isinstance(part, int):
        return models
    if tagged := [one for one in models if part in _tags(one)]:
        return tagged
    return [found for one in models for found in _fields_of(one).get(part, [])]


def _fields_of(model: AnyModel) -> dict[str, Models]:
    return {name: list(_models(annotation)) for name, annotation in _types_of(model).items()}


def _types_of(model: AnyModel) -> dict[str, Any]:
    if is_typeddict(model):
        return dict(model.__annotations__)
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _models(annotation: Any) -> Iterator[AnyModel]:
    if is_typeddict(annotation) or (isinstance(annotation, type) and issubclass(annotation, Fields)):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _tags(model: AnyModel) -> Sequence[Any]:
    return get_args(_types_of(model).get("type"))


def _nested(models: Models) -> Iterator[tuple[str, str]]:
    for one in models:
        for field, inner in _fields_of(one).items():
            yield from ((name, f"{field}.{name}") for model in inner for name in field_names(model))


def _nearest(name: str, known: Mapping[str, str]) -> str | None:
    close = get_close_matches(name, known, n=1)
    return known[close[0]] if close else None


Model = TypeVar("Model", bound=Fields)
SMALL_BODY: Final = 64 * 1024
_ADVICE: Final[Mapping[str, str]] = {
    "missing": "is missing; add it",
    "string_type": "is not text; send a string in quotes",
    "string_unicode": _SURROGATES,
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
    """Raise InvalidRequest that names every field at fault."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise InvalidRequest(*problems_in(error, model)) from error


def read_shape(shape: Any, document: Mapping[str, Any]) -> dict[str, Any]:
    """Read a TypedDict. Raise InvalidRequest that names every field at fault."""
    try:
        return _adapter(shape).validate_python(document)
    except ValidationError as error:
        raise InvalidRequest(*problems_in(error, shape)) from error


@cache
def _adapter(shape: Any) -> TypeAdapter[dict[str, Any]]:
    # Making one takes a millisecond or two, so it is made at the first request.
    return TypeAdapter(shape)


def read_without_nulls(model: type[Model], document: Mapping[str, Any], nullable: Set[str] = frozenset()) -> Model:
    """Refuse null for all fields but the nullable ones."""
    if problems := null_problems(model, document, nullable):
        raise InvalidRequest(*problems)
    return read_model(model, document)


def read_body(model: type[Model], body: bytes, limit: int = SMALL_BODY, nullable: Set[str] = frozenset()) -> Model:
    """No body counts as an empty object."""
    return read_without_nulls(model, read_object(body, limit) if body.strip() else {}, nullable)


def read_no_fields(body: bytes) -> None:
    """Accept no body, or an empty object."""
    if body.strip() and (document := read_object(body, SMALL_BODY)):
        refuse_unknown_fields(document, [])


def null_problems(model: AnyModel, document: Mapping[str, Any], nullable: Set[str]) -> list[Problem]:
    # In the models, None marks a field that was left out, so null would be read as a missing field.
    names = set(field_names(model)) - nullable
    return [Problem(name, "is null; leave it out") for name in sorted(names) if document.get(name, name) is None]


def choice_problems(document: Mapping[str, Any], names: Sequence[str]) -> list[Problem]:
    present = [name for name in names if name in document]
    if len(present) < 2:
        return []
    return [Problem(name, f"only one of {', '.join(present)} may be given; keep one of them") for name in present]


def refuse_unknown_fields(document: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise InvalidRequest for fields that are not known. Use it for a document whose fields are read one by one."""
    names = {name: name for name in known}
    unknown = [name for name in document if name not in names]
    if problems := [Problem(echo(name), _unknown_field(_nearest(name[:_LONGEST], names))) for name in unknown]:
        raise InvalidRequest(*problems)


def problems_in(error: ValidationError, model: AnyModel | None = None) -> list[Problem]:
    """Return at most as many problems as an answer lists."""
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


def check_query(route: Route, request: Request) -> None:
    # A route that takes parameters reads them as a model, which refuses unknown ones.
    if route.is_page or route.ignores_query:
        return
    if route.query is None:
        refuse_unknown_fields(request.query, [])
    if request.repeated_query:
        raise InvalidRequest(
            *(Problem(echo(name), "is given twice; keep one of them") for name in request.repeated_query)
        )
