"""The page of all types of REST: each field with its type, its bounds, its default and its meaning."""

from collections.abc import Iterator, Mapping
from typing import Any

from docs.generator.markdown import page, table
from docs.generator.meanings import Undocumented, meaning_of
from docs.generator.schemas import bounds_of, default_of, type_of

from onthedot.api.openapi import describe
from onthedot.api.routes import ROUTES

_TEXT = """\
The fields of requests (`…Fields`) and answers (`…View`), made from the same models that the API checks requests with.
`GET /openapi.json` has them as JSON schemas. Names of requests are strict: an unknown field is refused. Answers may get
more fields in later versions."""


def types_page() -> str:
    """Return the page. Raise Undocumented with all fields that have no meaning."""
    schemas: Mapping[str, Any] = describe(ROUTES)["components"]["schemas"]
    if bare := list(_bare(schemas)):
        raise Undocumented(*bare)
    return page("REST types", _TEXT, *(part for name in sorted(schemas) for part in _type(name, schemas[name])))


def _bare(schemas: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in schemas.items():
        for field, found in schema["properties"].items():
            try:
                meaning_of(name, field, found)
            except Undocumented as error:
                yield from error.places


def _type(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {name}"
    yield str(schema.get("description", ""))
    yield table(("field (default)", "type", "meaning"), (_row(name, schema, field) for field in schema["properties"]))


def _row(name: str, schema: Mapping[str, Any], field: str) -> tuple[str, str, str]:
    found = schema["properties"][field]
    bounds = bounds_of(found)
    kind = type_of(found, "") + (f"; {bounds}" if bounds else "")
    required = name.endswith("Fields") and field in schema.get("required", ())
    return default_of(field, found, required), kind, meaning_of(name, field, found)
