"""Suggest the field that a user may have meant: one of the same object, or one of an object in it."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, get_args

from onthedot.api.core.fields import Fields

_LONGEST: Final = 64
"""Characters of a name that are compared."""

Models = list[type[Fields]]


def field_names(model: type[Fields]) -> list[str]:
    """Return the names of the fields as users write them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def near_field(model: type[Fields], location: Sequence[int | str]) -> str | None:
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


def _fields_of(model: type[Fields]) -> dict[str, Models]:
    """Return the models of each field whose values are objects."""
    return {field.alias or name: list(_models(field.annotation)) for name, field in model.model_fields.items()}


def _models(annotation: Any) -> Iterator[type[Fields]]:
    if isinstance(annotation, type) and issubclass(annotation, Fields):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _tags(model: type[Fields]) -> Sequence[Any]:
    field = model.model_fields.get("type")
    return () if field is None else get_args(field.annotation)


def _nested(models: Models) -> Iterator[tuple[str, str]]:
    for one in models:
        for field, inner in _fields_of(one).items():
            yield from ((name, f"{field}.{name}") for model in inner for name in field_names(model))


def _nearest(name: str, known: Mapping[str, str]) -> str | None:
    close = get_close_matches(name, known, n=1)
    return known[close[0]] if close else None
