"""Hold the pages to the code: links, paths, names, states, everything that users can name, and the examples."""

import ast
import importlib
import importlib.util
import json
import re
import time
from collections.abc import Iterable, Iterator
from typing import Any

import click
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from onthedot.api.routes import ROUTES
from onthedot.cli.main import main
from onthedot.core.moves import TRANSITIONS
from onthedot.core.records import Status
from onthedot.events.fields import EventFields
from onthedot.jobs.lists import BulkFields
from onthedot.jobs.shapes import JobFields, PatchFields, WorkflowFields
from onthedot.jobs.spec import Has, Stored, fields_of
from onthedot.targets.fields import TargetFields
from onthedot.targets.types import INTERNAL, TYPES
from onthedot.targets.webhooks import fresh_key, signature_headers
from tests.unit.project.pages import (
    PAGES,
    PRODUCT,
    exists,
    is_broken,
    links_of,
    looks_like_a_path,
    names_in_the_code,
    names_on,
    prose_of,
    spans_of,
    text_of,
)

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_]\w*)*")
MAKE = re.compile(r"(?:^|`)make ([a-z]+)", re.MULTILINE)
ARROW = re.compile(r"^ *(\w+) --> (\w+)(?::|$)", re.MULTILINE)
REASON_CODE = re.compile(r'Reason\(\s*"(\w+)"')
ERROR_CODE = re.compile(r'(?:ApiError|error_response)\(\s*\d+,\s*"(\w+)"')
REQUEST = re.compile(
    r"^curl -s (?:-X (?P<method>\w+) )?\$URL(?P<path>\S+)(?:(?!^```).)*?-d '(?P<body>[^']*)'", re.MULTILINE | re.DOTALL
)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
JSON = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/v1/jobs"): JobFields,
    ("POST", "/v1/jobs/bulk"): BulkFields,
    ("POST", "/v1/workflows"): WorkflowFields,
    ("POST", "/v1/events"): EventFields,
    ("PATCH", "/v1/jobs/JOB_ID"): PatchFields,
}


class TargetExample(BaseModel):
    """An example of `docs/targets.md`."""

    target: TargetFields


def commands(group: click.Group, prefix: str = "onthedot") -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield f"{prefix} {name}"
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")


def worker_options() -> list[str]:
    worker = main.get_command(click.Context(main), "worker")
    assert worker is not None
    return [option for parameter in worker.params for option in parameter.opts]


def codes(pattern: re.Pattern[str]) -> set[str]:
    return {code for path in PRODUCT.rglob("*.py") for code in pattern.findall(path.read_text())}


def first_cells_of_the_context_values() -> str:
    table = text_of("docs/deploy.md").split("## Context values")[1].split("\n## ")[0]
    return " ".join(row.split("|")[1] for row in table.splitlines() if row.startswith("|"))


def undocumented() -> Iterable[tuple[str, list[str]]]:
    """Everything that users can name and no page explains, by kind."""
    from stage_config import StageConfig  # loads CDK

    def without(names: Iterable[str], where: str, form: str = "`{}`") -> list[str]:
        return [name for name in names if form.format(name) not in where]

    jobs, targets, workers = (prose_of(f"docs/{page}.md") for page in ("jobs", "targets", "workers"))
    spans = {span.split("?")[0] for page in PAGES for span in spans_of(page)}
    every_text = "\n".join(text_of(page) for page in PAGES if page != "CHANGELOG.md")
    named = {page: names_on(f"docs/{page}.md") for page in ("jobs", "schedules", "workflows")}
    yield "routes", [name for route in ROUTES if (name := f"{route.method} {route.path}") not in spans]
    yield "statuses", without(Status, jobs)
    yield "codes of explain", without(codes(REASON_CODE), jobs)
    yield "codes of errors", without(codes(ERROR_CODE), jobs)
    yield "target types", without(set(TYPES) - INTERNAL, targets, '"type": "{}"')
    yield "context values", without(StageConfig.model_fields, first_cells_of_the_context_values())
    yield "options of the worker", without(worker_options(), workers, "`{}")
    yield "commands", [name for name in commands(main) if not re.search(rf"\b{name}\b", every_text)]
    page_of = {field.name: "schedules" if field.stored is Stored.RECURRENCE else "jobs" for field in fields_of(Has.JOB)}
    yield "fields of jobs", [name for name, page in page_of.items() if name not in named[page]]
    yield (
        "fields of workflows",
        sorted({field.name for field in fields_of(Has.WORKFLOW | Has.NODE)} - set().union(*named.values())),
    )


def requests_in(page: str) -> list[tuple[str, str, str]]:
    return [(one["method"] or "POST", one["path"], one["body"]) for one in REQUEST.finditer(text_of(page))]


def is_module(package: str, name: str) -> bool:
    """Whether a name is a module of a package, which has it as a value only after an import."""
    return importlib.util.find_spec(f"{package}.{name}") is not None


def test_links_lead_somewhere() -> None:
    assert [(page, link) for page in PAGES for link in links_of(page) if is_broken(page, link)] == []


def test_paths_exist() -> None:
    spans = [(page, span) for page in PAGES for span in spans_of(page)]
    assert [(page, span) for page, span in spans if looks_like_a_path(span) and not exists(page, span)] == []


def test_the_code_has_every_name_in_the_architecture() -> None:
    named = {span for span in spans_of("ARCHITECTURE.md") if NAME.fullmatch(span) and not looks_like_a_path(span)}
    parts = {part for name in named for part in name.split(".")}
    assert len(parts) > 20
    assert sorted(parts - names_in_the_code()) == []


def test_the_chart_is_the_transition_table() -> None:
    """Every status may stay, and may become DELETED: ARCHITECTURE.md says so, and the chart leaves it out."""
    assert all({status, Status.DELETED} <= after for status, after in TRANSITIONS.items())
    table = {(str(before), str(to)) for before, after in TRANSITIONS.items() for to in after - {before, Status.DELETED}}
    charts = re.findall(r"^```mermaid\n(.*?)^```$", text_of("ARCHITECTURE.md"), re.MULTILINE | re.DOTALL)
    assert {arrow for chart in charts for arrow in ARROW.findall(chart)} == table


def test_everything_that_users_can_name_is_documented() -> None:
    assert {kind: names for kind, names in undocumented() if names} == {}


def test_the_api_takes_every_request() -> None:
    requests = [(page, *one) for page in PAGES for one in requests_in(page)]
    assert len(requests) == sum(text_of(page).count(" -d '{") for page in PAGES) > 5
    refused = []
    for page, method, path, body in requests:
        try:
            TypeAdapter(BODIES[method, path]).validate_python(json.loads(body))
        except (KeyError, ValueError) as error:
            refused.append((page, path, error))
    assert refused == []


def test_the_api_takes_every_example_of_a_target() -> None:
    examples = [json.loads(example) for example in JSON.findall(text_of("docs/targets.md"))]
    assert len([TargetExample.model_validate(example) for example in examples]) == len(TYPES) - len(INTERNAL)
    with pytest.raises(ValidationError):
        TargetExample.model_validate({"target": {"type": "no such type"}})


def test_python_examples_import_names_that_exist() -> None:
    missing = []
    for page in PAGES:
        own = set(re.findall(r"^# (\w+)\.py$", text_of(page), re.MULTILINE))
        for program in PYTHON.findall(text_of(page)):
            for node in ast.walk(ast.parse(program)):
                if isinstance(node, ast.ImportFrom) and node.module and node.module not in own:
                    module = importlib.import_module(node.module)
                    lost = [name.name for name in node.names if not hasattr(module, name.name)]
                    missing += [(page, node.module, name) for name in lost if not is_module(node.module, name)]
    assert missing == []


def test_the_example_of_the_signature_accepts_ours_and_refuses_others() -> None:
    [program] = [one for one in PYTHON.findall(text_of("docs/targets.md")) if "def is_from_onthedot" in one]
    names: dict[str, Any] = {}
    exec(program, names)  # the example itself is the subject of the test
    is_from_onthedot = names["is_from_onthedot"]
    old, new, other = fresh_key(1_000), fresh_key(2_000), fresh_key(3_000)
    present = round(time.time() * 1000)
    headers = signature_headers([new, old], "run_1", present, b"{}")
    assert is_from_onthedot(headers, b"{}", old.secret)
    assert is_from_onthedot(headers, b"{}", new.secret)
    assert not is_from_onthedot(headers, b"{}", other.secret)
    assert not is_from_onthedot(headers, b"{ }", new.secret)
    replayed = signature_headers([new], "run_1", present - 301_000, b"{}")
    assert not is_from_onthedot(replayed, b"{}", new.secret)
