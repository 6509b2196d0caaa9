"""A document or a query as a model, or a refusal that names every field at fault."""

from collections.abc import Mapping, Set
from typing import Any, TypeVar

from pydantic import ValidationError

from onthedot.api.core.body import read_object
from onthedot.api.core.complaints import problems_of, unknown
from onthedot.api.core.errors import echo
from onthedot.api.core.fields import Fields
from onthedot.domain.errors import InvalidRequest, Problem

Model = TypeVar("Model", bound=Fields)
SMALL_BODY = 64 * 1024


def read_model(model: type[Model], document: Mapping[str, Any]) -> Model:
    """Raises InvalidRequest."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise InvalidRequest(*problems_of(error, names_of(model))) from error


def read_fields(model: type[Model], body: bytes, limit: int = SMALL_BODY, nullable: Set[str] = frozenset()) -> Model:
    """A body as a model; no body is an empty one. Raises ApiError and InvalidRequest."""
    document = read_object(body, limit) if body.strip() else {}
    if problems := nulls(model, document, nullable):
        raise InvalidRequest(*problems)
    return read_model(model, document)


def names_of(model: type[Fields]) -> list[str]:
    """The fields as users write them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def nulls(model: type[Fields], document: Mapping[str, Any], allowed: Set[str]) -> list[Problem]:
    """Fields that are there and null."""
    known = set(names_of(model)) - allowed
    return [Problem(name, "is null; leave it out") for name in sorted(known) if document.get(name, name) is None]


def refuse_unknown(document: Mapping[str, Any], known: list[str]) -> None:
    """For a document whose fields are read one by one. Raises InvalidRequest."""
    problems = [Problem(echo(name), unknown(name, known)) for name in document if name not in known]
    if problems:
        raise InvalidRequest(*problems)


def read_nothing(body: bytes) -> None:
    """For calls that take no fields: no body, or an empty object. Raises ApiError and InvalidRequest."""
    if body.strip() and (document := read_object(body, SMALL_BODY)):
        refuse_unknown(document, [])
