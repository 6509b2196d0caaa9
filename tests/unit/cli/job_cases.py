"""Options of `onthedot schedule` and `onthedot change`, with the fields that they send. Together they name every field.

The names of the fields come from the shapes of the API, so a field without an option fails a test.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from pydantic import TypeAdapter

from onthedot.cli.jobs.job_options import OPTIONS, JobOption
from onthedot.jobs import forms
from onthedot.jobs.spec import BY_NAME
from onthedot.targets.types import to_json
from tests.examples import good
from tests.unit.targets.samples import OF_EACH_TYPE

URL: Final = "https://api.example.com/remind"
JOB: Final = "job_aaaaaaaaaaaaaaaaaaaaaaaaaa"


class Case(NamedTuple):
    """The words of a command, and the body that it sends."""

    words: list[str]
    body: dict[str, Any]

    def fields(self) -> set[str]:
        """Return the names of the fields in the body, as `fields_of` has them."""
        return {name for field, value in self.body.items() for name in _names(field, value)}


def _said(option: JobOption) -> Case:
    """Return an option with an example of the table, and the body that it sends."""
    [name, *parts] = option.path
    field = BY_NAME[name]
    for part in parts:
        [field] = [one for one in cast(forms.Parts, field.form).parts if one.name == part]
    value = good(field)[-1]
    texts = _texts(field.form, value)
    body = {parts[0]: value} if parts else value
    needed = ["--depends-on", JOB] if name == "on_parent_failure" else []
    return Case(
        [*needed, *(word for text in texts for word in (option.flag, text))],
        {**({"dependencies": [JOB]} if needed else {}), name: body},
    )


def _texts(form: forms.Form, value: Any) -> list[str]:
    match form:
        case forms.Seconds() | forms.Duration():
            return [f"{value}s"]
        case forms.Switch():
            return ["on" if value else "off"]
        case forms.Names():
            return list(value)
        case forms.Tags():
            return [f"{key}={text}" for key, text in value.items()]
        case forms.Json():
            return [json.dumps(value)]
    return [str(value)]


def _is_plain(option: JobOption) -> bool:
    return option.path[0] in BY_NAME and option.flag not in ("--shell", "--at", "--in", "--every")


CASES: Final = (
    *(_said(option) for option in OPTIONS if _is_plain(option)),
    Case(["--description", 'it\'s "new" $HOME'], {"description": 'it\'s "new" $HOME'}),
    Case(["--tag", "team=core", "--tag", "free="], {"tags": {"team": "core", "free": ""}}),
    Case(
        ["--at", "2030-01-31T09:30:00", "--tz", "Europe/Berlin"],
        {"at": "2030-01-31T09:30:00", "timezone": "Europe/Berlin"},
    ),
    Case(["--in", "1.5s"], {"delay": 1.5}),
    Case(["--every", "90s"], {"every": 90}),
    Case(["--every", "rate(5 minutes)"], {"every": "rate(5 minutes)"}),
    Case(["--misfire", "skip", "--misfire-grace", "5m"], {"misfire": {"policy": "skip", "grace_seconds": 300}}),
    Case(["--http", URL], {"callback_url": URL}),
    Case(
        ["--http", URL, "--method", "PUT", "--header", "X-Team:a: b"],
        {"target": {"type": "http", "url": URL, "method": "PUT", "headers": {"X-Team": "a: b"}}},
    ),
    Case(["--python", "send-email"], {"target": {"type": "python", "handler": "send-email"}}),
    Case(["--shell", "echo 'a b'"], {"target": {"type": "shell", "argv": ["echo", "a b"]}}),
    *(Case(["--target", json.dumps(to_json(one))], {"target": to_json(one)}) for one in OF_EACH_TYPE.values()),
    Case(["--priority", "high"], {"priority": "HIGH"}),
)
"""Each field with its example of the table, and options whose words need reading."""


def with_work(case: Case) -> Case:
    """Return the case as a new job needs it: with something to run."""
    if case.body.keys() & {"target", "callback_url"}:
        return case
    return Case([*case.words, "--http", URL], {**case.body, "callback_url": URL})


def fields_of(model: Any) -> set[str]:
    """Return the names of all fields that a model takes, such as `retry.factor` and `target.http.url`."""
    schema = TypeAdapter(model).json_schema()
    return set(_in_object(schema, schema.get("$defs", {}), ""))


def _in_object(schema: Mapping[str, Any], definitions: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, field in schema["properties"].items():
        objects = [one for one in _resolved(field, definitions) if "properties" in one]
        if not objects and prefix + name != "type":
            yield prefix + name
        for one in objects:
            kind = one["properties"].get("type", {}).get("const")
            inner = {**one, "properties": {each: of for each, of in one["properties"].items() if each != "type"}}
            yield from _in_object(inner if kind else one, definitions, f"{prefix}{name}.{f'{kind}.' if kind else ''}")


def _resolved(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas that a field may have."""
    if "$ref" in field:
        yield from _resolved(definitions[field["$ref"].rpartition("/")[2]], definitions)
    elif choices := field.get("anyOf") or field.get("oneOf") or field.get("allOf"):
        for choice in choices:
            yield from _resolved(choice, definitions)
    else:
        yield field


def _names(field: str, value: Any) -> Iterator[str]:
    if field == "target":
        yield from (f"target.{value['type']}.{name}" for name in value if name != "type")
    elif field in ("dst", "misfire", "retry", "requirements"):
        yield from (f"{field}.{name}" for name in value)
    else:
        yield field
