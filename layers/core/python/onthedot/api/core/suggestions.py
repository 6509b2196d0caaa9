"""Suggest the field that a user may have meant: one of the same object, or one of an object in it."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, get_args

from typing_extensions import is_typeddict

from onthedot.api.core.fields import Fields

_LONGEST: Final = 64
"""Characters of a name that are compared."""

AnyModel = Any
"""A model of pydantic, or a TypedDict."""
Models = list[AnyModel]


def field_names(model: AnyModel) -> list[str]:
    """Return the names of the fields as users write them."""
    return list(_types_of(model))


def near_field(model: AnyModel, location: Sequence[int | str]) -> str | None:
    """Return the known field that is nearest to the unknown one at this place of a document, or None.

    A name that an object in this one has comes first: `max_retries` means `retry.max_retries`, and not `max_runs`.
    """
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
    """Return the models of each field whose values are objects."""
    return {name: list(_models(annotation)) for name, annotation in _types_of(model).items()}


def _types_of(model: AnyModel) -> dict[str, Any]:
    """Return the types of the fields by their names, as users write them."""
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
