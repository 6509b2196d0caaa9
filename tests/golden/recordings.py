"""Everything that is recorded, by the name of its file."""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.golden.commands import commands_recording, surface_recording
from tests.golden.compare import Mask
from tests.golden.life import life_recording
from tests.golden.rest import BODIES, KINDS, SCENARIOS, Rest
from tests.golden.world import World, on_aws, on_sqlite

ROLES = ("admin", "operator", "viewer", "worker", None)
WORDS = ("description", "summary", "title", "example", "examples")
ON_AWS = "stored_aws"


def rest_recording(name: str) -> Any:
    with on_sqlite() as world:
        rest = Rest(world)
        SCENARIOS[name](rest)
        return rest.masked()


def described(world: World) -> Any:
    return json.loads(world.answer("GET", "/openapi.json").text)


def operations(document: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield method, path and description of each call of the API."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def openapi_recording() -> Any:
    """The OpenAPI document without its texts: routes, parameters, models, fields, defaults and bounds."""
    with on_sqlite() as world:
        document = described(world)
    calls: dict[str, Any] = {}
    for method, path, operation in operations(document):
        answers: dict[str, str] = {}
        for status, answer in sorted(operation["responses"].items()):
            shape = str(brief(answer.get("content", {}).get("application/json", {}).get("schema", {})))
            answers[shape] = f"{answers.get(shape, '')} {status}".lstrip()
        body = operation.get("requestBody", {})
        calls[f"{method} {path}"] = {
            "operationId": operation["operationId"],
            "parameters": {
                f"{one['in']} {one['name']}": [one["required"], brief(one["schema"])]
                for one in operation.get("parameters", ())
            },
            "body": body and [body.get("required"), brief(body["content"]["application/json"]["schema"])],
            "responses": answers,
            "security": operation.get("security"),
        }
    models = {name: brief(model) for name, model in document["components"]["schemas"].items()}
    return json.loads(json.dumps({"calls": calls, "models": models}, sort_keys=True))


def brief(schema: Any) -> Any:
    """Return a JSON schema without its texts: a type, or types with `|` between them, as a word."""
    if not isinstance(schema, dict):
        return schema
    kept = {name: value for name, value in schema.items() if name not in WORDS}
    if "properties" in kept:
        kept["properties"] = {name: brief(field) for name, field in kept["properties"].items()}
    for name in ("items", "additionalProperties"):
        if name in kept:
            kept[name] = brief(kept[name])
    if "anyOf" in kept:
        types = [brief(one) for one in kept["anyOf"]]
        kept["anyOf"] = "|".join(types) if all(isinstance(one, str) for one in types) else types
    (word, *others) = kept.values() if kept else ({},)
    if isinstance(word, str) and not others and kept.keys() <= {"type", "anyOf", "$ref"}:
        return word.replace("#/components/schemas/", "#")
    return kept


def roles_recording() -> Any:
    """What each role may call: the status of each route without a body, about things that do not exist."""
    found: dict[str, Any] = {}
    with on_sqlite() as world:
        for method, path, _ in operations(described(world)):
            if method != "GET" and path.startswith(("/v1/stage", "/v1/import")):
                continue  # an allowed call would close the stage for the next one
            place = re.sub(r"\{\w+\}", "missing", path)
            answers = {str(role): world.answer(method, place, b"{}", role=role) for role in ROLES}
            found[f"{method} {path}"] = {role: f"{a.status} {code_of(a)}".strip() for role, a in answers.items()}
    return found


def code_of(answer: Any) -> str:
    """The error's code and fields on one line."""
    error = json.loads(answer.text).get("error") if answer.text[:1] == "{" else None
    if error is None:
        return ""
    return " ".join([error["code"], *sorted({detail["field"] for detail in error.get("details", ())})])


def fields_recording() -> Any:
    """How each field of each body is read: odd values, and the status, code and fields of the answer."""
    found: dict[str, Any] = {}
    with on_sqlite() as world:
        ids = {name: world.make(name, **KINDS[name]) for name in ("now", "seconds")}
        document = described(world)
        for method, path, operation in operations(document):
            schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if schema is None:
                continue
            model = schema.get("$ref", "").rpartition("/")[2]
            place = re.sub(r"\{\w+\}", ids["now"] if "jobs" in path else "missing", path)
            for field in sorted(document["components"]["schemas"].get(model, {}).get("properties", {})):
                answers: dict[str, list[str]] = {}
                for odd in BODIES["odd"]:
                    body = {"callback_url": "https://example.org/"} if model == "JobFields" else {}
                    answer = world.answer(method, place, json.dumps(body | {field: odd}).encode())
                    answers.setdefault(f"{answer.status} {code_of(answer)}", []).append(json.dumps(odd))
                found[f"{method} {path} {field}"] = {result: " ".join(odds) for result, odds in answers.items()}
    return Mask({}).value(found)


def sqlite_recording() -> Any:
    with on_sqlite() as world:
        return life_recording(world)


def aws_recording(url: str) -> Any:
    """What is stored in DynamoDB and S3, and sent to SQS, of a substitute for AWS at this URL."""
    with on_aws(url) as world:
        return life_recording(world)


def cli_recording() -> Any:
    with on_sqlite() as world:
        return commands_recording(world)


RECORDINGS: dict[str, Callable[[], Any]] = {
    **{name: partial(rest_recording, name) for name in SCENARIOS},
    "openapi": openapi_recording,
    "rest_roles": roles_recording,
    "rest_fields": fields_recording,
    "stored_sqlite": sqlite_recording,
    "cli_commands": cli_recording,
    "cli_surface": surface_recording,
}
