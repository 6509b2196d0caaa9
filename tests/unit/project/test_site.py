"""The site of `make docs`: complete, with a reference that explains everything, and nothing from other hosts."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from docs.generator import commands, context
from docs.generator.commands import NoHelp
from docs.generator.context import NoDocstring
from docs.generator.meanings import FIELDS, PARAMETERS, Undocumented, meaning_of, meanings
from docs.generator.site import OUTSIDE, REFERENCE, collect, place_of, rewritten
from docs.generator.story import SHOWN, WITHOUT_EXAMPLE, examples

from onthedot.api.openapi import describe
from onthedot.api.routes import ROUTES

ROOT = Path(__file__).parents[3]
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|audio|video)\b[^>]*\bsrc=["']?((?:https?:)?//[^"'> ]+)"""
    r"""|<link\b[^>]*\brel=["']?(?:stylesheet|icon|pre\w+)[^>]*href=["']?((?:https?:)?//[^"'> ]+)"""
    r"""|url\(["']?((?:https?:)?//[^"')]+)|@import ["']((?:https?:)?//[^"']+)"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site. This fails for a broken link, and names what has no text in the reference."""
    folder = tmp_path_factory.mktemp("site")
    collect(folder / "pages")
    settings = (
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: pages\nsite_dir: site\ntheme:\n  custom_dir: {ROOT}/docs/theme\n"
    )
    (folder / "mkdocs.yml").write_text(settings)
    command = [str(Path(sys.executable).with_name("mkdocs")), "build", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.mark.slow
def test_every_page_is_there(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    written = {Path("reference", name).with_suffix("") for name in REFERENCE}
    expected = {*pages, *written, *(Path(place).with_suffix("") for place in OUTSIDE.values())}
    built = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")} - {Path("404")}
    assert built == {path.with_name("index") if path.name == "README" else path for path in expected}


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    texts = {path: path.read_text() for path in site.rglob("*") if path.suffix in (".html", ".css")}
    assert len(texts) > 30
    found = {path.name: LOADED.findall(text) for path, text in texts.items()}
    assert {name: hosts for name, hosts in found.items() if hosts} == {}
    assert all("default-src 'self'" in text for path, text in texts.items() if path.suffix == ".html")
    bad = [
        '<script src="https://x.example/a.js">',
        "<link rel=stylesheet href=//x.example/a.css>",
        "url(https://x.example/f)",
    ]
    assert all(LOADED.search(text) for text in bad), "the check above would find them"
    assert not LOADED.search('<a href="https://x.example/">')


def test_links_lead_to_the_places_of_the_site() -> None:
    assert rewritten("[a](../ARCHITECTURE.md#bounds)", "jobs.md") == "[a](ARCHITECTURE.md#bounds)"
    assert rewritten("[a](../jobs.md)", "howto/watch.md") == "[a](../jobs.md)"
    assert rewritten("[a](docs/jobs.md)", "ARCHITECTURE.md") == "[a](jobs.md)"
    assert rewritten("[a](../tests/model/gates/README.md)", "design.md") == "[a](model-of-gates.md)"
    assert rewritten("[a](../../docs/jobs.md) [b](#c)", "local-aws.md") == "a [b](#c)"
    assert rewritten("![plot](benchmarks.svg)", "benchmarks.md") == "![plot](benchmarks.svg)"
    assert rewritten("[w](https://x.example/)", "jobs.md") == "[w](https://x.example/)"
    assert place_of("README.md") == "README.md"


def test_every_route_has_an_example_that_the_api_answered() -> None:
    told = examples()
    without = {route.path for route in SHOWN if f"{route.method} {route.path}" not in told}
    assert without == WITHOUT_EXAMPLE, "give the route an example, or add a call to docs/generator/story.py"


def test_every_meaning_is_used() -> None:
    schemas: dict[str, Any] = describe(ROUTES)["components"]["schemas"]
    bare = {
        (kind, name)
        for kind, schema in schemas.items()
        for name, field in schema["properties"].items()
        if "description" not in field
    }
    special = {(place, name) for place, names in meanings().items() for name in names}
    special = {(place, name) for place, name in special if place not in (FIELDS, PARAMETERS)}
    assert special - bare == set()
    assert set(meanings()[FIELDS]) - {name for _, name in bare} == set()


def test_what_has_no_text_is_named() -> None:
    """So the build of the site fails for a new field, command, option or context value without a text."""
    with pytest.raises(Undocumented, match=r"JobFields\.brand_new"):
        meaning_of("JobFields", "brand_new", {})
    assert meaning_of("JobFields", "brand_new", {"description": "its meaning"}) == "its meaning"
    with pytest.raises(NoHelp, match="onthedot silent"):
        list(commands._command("onthedot silent", click.Command("silent"), "##"))
    half = click.Command("half", help="Do it.", params=[click.Option(["--quiet"])])
    with pytest.raises(NoHelp, match="--quiet"):
        list(commands._command("onthedot half", half, "##"))

    class Config:
        documented: int = 1
        """It has a text."""
        bare: int = 2

    with pytest.raises(NoDocstring, match=r"Config\.bare"):
        context.meanings_of(Config, "bare")
