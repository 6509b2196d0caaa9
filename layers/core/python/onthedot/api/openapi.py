"""Make the OpenAPI document from the routes, the models of their requests and the types of their answers."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any, Final

from pydantic import TypeAdapter

import onthedot
from onthedot.api.commands import CLIENT, COMMAND_LINE, FIELDS, HEADERS, OPERATIONS
from onthedot.api.errors import ErrorView
from onthedot.api.route import Route

_REF: Final = "#/components/schemas/{model}"
_PLACE: Final = re.compile(r"\{(\w+)\}")
_Schemas = Mapping[tuple[Any, Any], dict[str, Any]]


@cache
def describe(routes: tuple[Route, ...], url: str = "") -> dict[str, Any]:
    routes = tuple(route for route in routes if not route.is_page)
    schemas, definitions = _schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "onthedot", "version": onthedot.__version__, "description": onthedot.__doc__},
        **({"servers": [{"url": url}]} if url else {}),
        "paths": paths,
        "components": {
            "schemas": definitions.get("$defs", {}),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _schemas(routes: Sequence[Route]) -> tuple[_Schemas, dict[str, Any]]:
    types = {ErrorView, *(route.answer for route in routes)}
    answers = [(kind, "serialization", TypeAdapter(kind)) for kind in types]
    bodies = [(kind, "validation", TypeAdapter(kind)) for kind in {route.body for route in routes} - {None}]
    schemas, definitions = TypeAdapter.json_schemas([*answers, *bodies], ref_template=_REF)  # type: ignore[list-item]
    for model, fields in FIELDS.items():
        for name, extension in fields.items():
            definitions["$defs"][model]["properties"][name] |= extension
    return schemas, definitions


def _operation(route: Route, schemas: _Schemas) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.action.__name__,
        "summary": route.summary,
        "parameters": _parameters(route),
        "responses": _responses(route, schemas),
    }
    if same := OPERATIONS.get(route.action.__name__):
        operation[COMMAND_LINE], operation[CLIENT] = same
    if route.is_open:
        operation["security"] = []
    if route.body is not None:
        operation["requestBody"] = {
            "required": not route.body_may_be_left_out,
            **_content(schemas[route.body, "validation"]),
        }
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    text = {"type": "string"}
    places = _PLACE.findall(route.path)
    found: list[dict[str, Any]] = [{"name": name, "in": "path", "required": True, "schema": text} for name in places]
    found += [
        {"name": name, "in": "header", "required": False, "schema": text, **HEADERS.get(name, {})}
        for name in route.headers
    ]
    if route.query is not None:
        choices = TypeAdapter(route.query).json_schema()["properties"]
        found += [{"name": name, "in": "query", "required": False, "schema": choices[name]} for name in choices]
    return found


def _responses(route: Route, schemas: _Schemas) -> dict[str, Any]:
    error = schemas[ErrorView, "serialization"]
    answer = schemas[route.answer, "serialization"]
    always = (500,) if route.ignores_query else (422, 500)
    codes = {*route.errors, *always, *(() if route.is_open else (401, 403, 503))}
    return {
        **{str(code): _described(code, answer) for code in (route.status, *route.other_statuses)},
        **{str(code): _described(code, error) for code in sorted(codes)},
    }


def _described(status: int, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": HTTPStatus(status).phrase, **_content(schema)}


def _content(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}
