"""The page of all calls of REST: roles, parameters, body, answer, errors and a real example of each."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from docs.generator.markdown import anchor, code, json_text, page, table
from docs.generator.meanings import PARAMETERS, meaning_of
from docs.generator.schemas import bounds_of, default_of, link, type_of
from docs.generator.story import SHOWN, Example, examples

import onthedot
from onthedot.api.openapi import describe
from onthedot.api.route import Route
from onthedot.api.router import ROLES
from onthedot.api.routes import ROUTES

_CODE: Final = re.compile(r'(?:ApiError|error_response)\(\s*(\d+),\s*"(\w+)"')
_TEXT: Final = """\
All calls of the API, made from the routes themselves. Send `Authorization: Bearer TOKEN`. Requests and answers are
JSON. Times are RFC 3339 in UTC with milliseconds. The examples are real: a scheduler in memory answered them when this
page was written. Types: [rest-types.md](rest-types.md). Explanations: [jobs](../jobs.md), [schedules](../schedules.md),
[workflows](../workflows.md), [limits](../limits.md), [workers](../workers.md), [errors](../jobs.md#errors)."""


def rest_page() -> str:
    shown = examples()
    sections = {title: [route for route in SHOWN if _section(route) == title] for title in _titles()}
    parts = [part for title, routes in sections.items() for part in _write(title, routes, shown)]
    return page("REST calls", _TEXT, _contents(sections), "## Errors", _errors(), *parts)


def _titles() -> list[str]:
    return list(dict.fromkeys(_section(route) for route in SHOWN))


def _section(route: Route) -> str:
    """Return the title of the section: the resource, which is the first word of the path."""
    return route.path.removeprefix("/v1").split("/")[1].replace("-", " ").capitalize()


def _name(route: Route) -> str:
    return f"{route.method} {route.path}"


def _contents(sections: Mapping[str, list[Route]]) -> str:
    rows = [
        (f"[`{_name(route)}`](#{anchor(_name(route))})", route.summary) for all_ in sections.values() for route in all_
    ]
    return table(("call", "does"), rows)


def _errors() -> str:
    sources = sorted((Path(onthedot.__file__).parent / "api").rglob("*.py"))
    found = sorted({match for path in sources for match in _CODE.findall(path.read_text())})
    body = f"The body of each is an {link('ErrorView')}. [What to do](../jobs.md#errors) with each code."
    return table(("status", "code"), ((status, f"`{name}`") for status, name in found)) + f"\n\n{body}"


def _write(title: str, routes: list[Route], shown: Mapping[str, Example]) -> Iterator[str]:
    yield f"## {title}"
    for route in routes:
        yield f"### {_name(route)}"
        yield f"{route.summary}. {_roles(route)}"
        yield from _facts(route)
        if example := shown.get(_name(route)):
            yield code("http", example.request)
            yield code("json", json_text(example.answer))


def _roles(route: Route) -> str:
    if route.is_open:
        return "It needs no token."
    roles = [role for role, allows in ROLES.items() if allows(route)]
    return f"Roles: {', '.join(roles)}."


def _facts(route: Route) -> Iterator[str]:
    operation = describe(ROUTES)["paths"][route.path][route.method.lower()]
    yield table(("parameter (default)", "in", "type", "meaning"), map(_parameter, operation["parameters"]))
    lines = []
    if route.body is not None:
        needed = "" if operation["requestBody"]["required"] else " It may be left out."
        lines.append(f"- Body: {_content(operation['requestBody'])}.{needed}")
    lines.append(f"- Answer {route.status}: {_content(operation['responses'][str(route.status)])}.")
    lines.append(f"- Errors: {', '.join(code for code in operation['responses'] if code != str(route.status))}.")
    yield "\n".join(lines)


def _parameter(parameter: Mapping[str, Any]) -> tuple[str, str, str, str]:
    name, schema = parameter["name"], parameter["schema"]
    bounds = bounds_of(schema)
    kind = type_of(schema) + (f"; {bounds}" if bounds else "")
    meaning = meaning_of(PARAMETERS, name, schema)
    return default_of(name, schema, parameter["required"]), parameter["in"], kind, meaning


def _content(part: Mapping[str, Any]) -> str:
    return type_of(part["content"]["application/json"]["schema"])
