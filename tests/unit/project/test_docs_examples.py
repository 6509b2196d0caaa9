"""Run the documentation's examples as far as they need no stack: requests are read, imports resolved, code run."""

import ast
import importlib
import importlib.util
import json
import re
import time
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from onthedot.api.events.fields import EventFields
from onthedot.api.targets.fields import TargetFields
from onthedot.domain.targets.types import INTERNAL, TYPES
from onthedot.domain.targets.webhooks import fresh_key, signature_headers
from onthedot.jobs.lists import BulkFields
from onthedot.jobs.shapes import JobFields, PatchFields, WorkflowFields
from tests.unit.project.pages import PAGES, text_of

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


def requests_in(page: str) -> list[tuple[str, str, str]]:
    return [(one["method"] or "POST", one["path"], one["body"]) for one in REQUEST.finditer(text_of(page))]


REQUESTS = [one for page in PAGES for one in requests_in(page)]


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_the_api_takes_the_request(method: str, path: str, body: str) -> None:
    TypeAdapter(BODIES[method, path]).validate_python(json.loads(body))


def test_every_request_is_found() -> None:
    assert len(REQUESTS) == sum(text_of(page).count(" -d '{") for page in PAGES) > 5


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_json_are_json_in(page: str) -> None:
    for example in JSON.findall(text_of(page)):
        json.loads(example)


def test_the_api_takes_every_example_of_a_target() -> None:
    examples = [json.loads(example) for example in JSON.findall(text_of("docs/targets.md"))]
    assert len([TargetExample.model_validate(example) for example in examples]) == len(TYPES) - len(INTERNAL)


@pytest.mark.parametrize("page", PAGES)
def test_python_examples_import_names_that_exist_in(page: str) -> None:
    own = set(re.findall(r"^# (\w+)\.py$", text_of(page), re.MULTILINE))
    for program in PYTHON.findall(text_of(page)):
        for node in ast.walk(ast.parse(program)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module not in own:
                module = importlib.import_module(node.module)
                assert all(hasattr(module, name.name) or _is_module(node.module, name.name) for name in node.names)


def _is_module(package: str, name: str) -> bool:
    """Return whether a name is a module of a package, which has it as a value only after an import."""
    return importlib.util.find_spec(f"{package}.{name}") is not None


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
