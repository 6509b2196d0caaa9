"""Hold the documentation to the code: links, paths, names, states, routes, fields, commands and words."""

import ast
import re
from collections.abc import Iterable

import click
import pytest

from onthedot.api.core.route import Route
from onthedot.api.core.routes import ROUTES
from onthedot.cli.main import main
from onthedot.domain.runs.moves import TRANSITIONS
from onthedot.domain.runs.records import Status
from onthedot.domain.targets.types import INTERNAL, TYPES
from onthedot.jobs.spec import Field, Has, Stored, fields_of
from tests.unit.project.pages import (
    GENERATED,
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

README_WORDS = 900
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_]\w*)*")
MAKE = re.compile(r"(?:^|`)make ([a-z]+)", re.MULTILINE)
ARROW = re.compile(r"^ *(\w+) --> (\w+)(?::|$)", re.MULTILINE)
REASON_CODE = re.compile(r'Reason\(\s*"(\w+)"')
ERROR_CODE = re.compile(r'(?:ApiError|error_response)\(\s*\d+,\s*"(\w+)"')


def arrows_of(page: str) -> set[tuple[str, str]]:
    charts = re.findall(r"^```mermaid\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL)
    return {arrow for chart in charts for arrow in ARROW.findall(chart)}


def context_values() -> list[str]:
    """Return the fields of `StageConfig`, read from the source: importing it would load CDK."""
    tree = ast.parse(text_of("infra/stage_config.py"))
    [config] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "StageConfig"]
    return [
        part.target.id for part in config.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    ]


def commands(group: click.Group, prefix: str = "onthedot") -> Iterable[str]:
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


def codes(pattern: re.Pattern[str], *folders: str) -> list[str]:
    sources = [path for folder in folders for path in (PRODUCT / folder).rglob("*.py")]
    return sorted({code for path in sources for code in pattern.findall(path.read_text())})


def test_the_readme_is_short() -> None:
    assert len(prose_of("README.md").split()) <= README_WORDS


@pytest.mark.parametrize("page", [*PAGES, *GENERATED])
def test_links_lead_somewhere_in(page: str) -> None:
    assert not [link for link in links_of(page) if is_broken(page, link)]


@pytest.mark.parametrize("page", PAGES)
def test_paths_exist_in(page: str) -> None:
    assert not [span for span in spans_of(page) if looks_like_a_path(span) and not exists(page, span)]


def test_paths_and_links_are_found_at_all() -> None:
    """Guard the two checks above: they must see links and paths, and refuse wrong ones."""
    assert len([span for span in spans_of("ARCHITECTURE.md") if looks_like_a_path(span)]) > 50
    assert len(links_of("README.md")) > 10
    assert looks_like_a_path("domain/runs/no_such_module.py")
    assert not looks_like_a_path("/v1/jobs")
    assert not exists("ARCHITECTURE.md", "domain/runs/no_such_module.py")
    assert not exists("ARCHITECTURE.md", "no_such_module.py")
    assert is_broken("README.md", "docs/jobs.md#no-such-heading")
    assert is_broken("README.md", "docs/no-such-page.md")


def test_the_code_has_every_name_in_the_architecture() -> None:
    """Find functions, classes, fields and tests that ARCHITECTURE.md names and that no longer exist."""
    named = {span for span in spans_of("ARCHITECTURE.md") if NAME.fullmatch(span) and not looks_like_a_path(span)}
    parts = {part for name in named for part in name.split(".")}
    assert len(parts) > 100
    assert not sorted(parts - names_in_the_code())


def test_the_charts_are_the_transition_table() -> None:
    """Every status may stay, and may become DELETED: ARCHITECTURE.md says so, and the charts leave it out."""
    assert all({status, Status.DELETED} <= after for status, after in TRANSITIONS.items())
    table = {(str(before), str(to)) for before, after in TRANSITIONS.items() for to in after - {before, Status.DELETED}}
    assert arrows_of("ARCHITECTURE.md") == table


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_documented_is_route(route: Route) -> None:
    named = {span.split("?")[0] for page in PAGES for span in spans_of(page)}
    assert f"{route.method} {route.path}" in named


@pytest.mark.parametrize("name", context_values())
def test_documented_is_context_value(name: str) -> None:
    table = text_of("docs/deploy.md").split("## Context values")[1].split("\n## ")[0]
    first_cells = " ".join(row.split("|")[1] for row in table.splitlines() if row.startswith("|"))
    assert f"`{name}`" in first_cells


@pytest.mark.parametrize("field", fields_of(Has.JOB), ids=lambda field: field.name)
def test_documented_is_field_of_jobs(field: Field) -> None:
    assert field.name in names_on("docs/schedules.md" if field.stored is Stored.RECURRENCE else "docs/jobs.md")


@pytest.mark.parametrize("field", fields_of(Has.WORKFLOW | Has.NODE), ids=lambda field: field.name)
def test_documented_is_field_of_workflows(field: Field) -> None:
    assert field.name in names_on("docs/workflows.md") | names_on("docs/schedules.md") | names_on("docs/jobs.md")


@pytest.mark.parametrize("name", sorted(set(TYPES) - INTERNAL))
def test_documented_is_target_type(name: str) -> None:
    assert f'"type": "{name}"' in prose_of("docs/targets.md")


@pytest.mark.parametrize("status", list(Status))
def test_documented_is_status(status: Status) -> None:
    assert f"`{status}`" in prose_of("docs/jobs.md")


@pytest.mark.parametrize("code", codes(REASON_CODE, "domain/reports", "use_cases/jobs"))
def test_documented_is_code_of_explain(code: str) -> None:
    assert f"`{code}`" in prose_of("docs/jobs.md")


@pytest.mark.parametrize("code", codes(ERROR_CODE, "api"))
def test_documented_is_code_of_an_error(code: str) -> None:
    assert f"`{code}`" in prose_of("docs/jobs.md")


@pytest.mark.parametrize("command", sorted(commands(main)))
def test_documented_is_command(command: str) -> None:
    pages = [page for page in PAGES if page != "CHANGELOG.md"]
    assert any(re.search(rf"\b{command}\b", text_of(page)) for page in pages)


@pytest.mark.parametrize("option", worker_options())
def test_documented_is_worker_option(option: str) -> None:
    assert re.search(rf"`{option}\b", prose_of("docs/workers.md"))


@pytest.mark.parametrize("target", sorted({name for page in PAGES for name in MAKE.findall(text_of(page))}))
def test_the_makefile_has(target: str) -> None:
    assert re.search(rf"^{target}:", text_of("Makefile"), re.MULTILINE)
