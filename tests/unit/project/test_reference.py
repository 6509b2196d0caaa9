"""Hold docs/reference to the code: it is up to date, and nothing in it is without a meaning."""

from typing import Any

import click
import pytest
from docs.generator import commands, context
from docs.generator.__main__ import PAGES, REFERENCE
from docs.generator.commands import NoHelp
from docs.generator.context import NoDocstring
from docs.generator.markdown import anchor, json_text, table
from docs.generator.meanings import FIELDS, PARAMETERS, Undocumented, meaning_of, meanings
from docs.generator.scrub import Scrub
from docs.generator.story import SHOWN, WITHOUT_EXAMPLE, examples

from onthedot.api.core.openapi import describe
from onthedot.api.core.routes import ROUTES


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_up_to_date(name: str) -> None:
    """A failure that names a field, a command or a value says where to describe it."""
    assert (REFERENCE / name).read_text() == PAGES[name](), "run `make reference`"


def test_there_is_no_other_page() -> None:
    assert {path.name for path in REFERENCE.iterdir()} == set(PAGES)


def test_every_route_has_an_example_that_the_api_answered() -> None:
    told = examples()
    without = {route.path for route in SHOWN if f"{route.method} {route.path}" not in told}
    assert without == WITHOUT_EXAMPLE, "add a call to docs/generator/story.py"


def test_every_meaning_is_used() -> None:
    schemas: dict[str, Any] = describe(ROUTES)["components"]["schemas"]
    bare = {
        (kind, name)
        for kind, schema in schemas.items()
        for name, field in schema["properties"].items()
        if "description" not in field
    }
    for place, names in meanings().items():
        if place not in (FIELDS, PARAMETERS):
            assert {(place, name) for name in names} <= bare
    assert set(meanings()[FIELDS]) <= {name for _, name in bare}


def test_a_field_without_a_meaning_is_named() -> None:
    with pytest.raises(Undocumented, match=r"JobFields\.brand_new"):
        meaning_of("JobFields", "brand_new", {})
    assert meaning_of("JobFields", "brand_new", {"description": "its meaning"}) == "its meaning"


def test_a_command_or_an_option_without_help_is_named() -> None:
    silent = click.Command("silent")
    with pytest.raises(NoHelp, match="onthedot silent"):
        list(commands._command("onthedot silent", silent, "##"))
    half = click.Command("half", help="Do it.", params=[click.Option(["--quiet"])])
    with pytest.raises(NoHelp, match="--quiet"):
        list(commands._command("onthedot half", half, "##"))


def test_a_context_value_without_a_text_is_named() -> None:
    class Config:
        documented: int = 1
        """It has a text."""
        bare: int = 2

    with pytest.raises(NoDocstring, match=r"Config\.bare"):
        context.meanings_of(Config, "bare")


def test_random_values_get_the_same_stand_ins() -> None:
    scrub, other = Scrub(), Scrub()
    first = scrub.value({"job_id": "job_p4lr2upbz3zjp5vfk4bckgyzhm", "token": "otd_secret", "name": "job"})
    second = other.value({"job_id": "job_2tivivxficge7luyfjnmt2xsle", "token": "otd_other", "name": "job"})
    assert first == second
    assert first["token"] == "otd_…"


def test_markdown() -> None:
    assert table(("a", "b"), [("x|y", "two\nlines")]) == "| a | b |\n| --- | --- |\n| x\\|y | two lines |"
    assert table(("a",), []) == ""
    assert anchor("GET /v1/jobs/{id}") == "get-v1jobsid"
    assert json_text({"a": ["x" * 60, "y" * 60]}) == f'{{\n  "a": [\n    "{"x" * 60}",\n    "{"y" * 60}"\n  ]\n}}'
