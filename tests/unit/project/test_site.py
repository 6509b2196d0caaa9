"""The site of `make docs`: it is complete, its links work, and its pages load nothing from other hosts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.generator.site import OUTSIDE, collect, place_of, rewritten

ROOT = Path(__file__).parents[3]
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|audio|video)\b[^>]*\bsrc=["']?((?:https?:)?//[^"'> ]+)"""
    r"""|<link\b[^>]*\brel=["']?(?:stylesheet|icon|pre\w+)[^>]*href=["']?((?:https?:)?//[^"'> ]+)"""
    r"""|url\(["']?((?:https?:)?//[^"')]+)|@import ["']((?:https?:)?//[^"']+)"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def test_every_page_is_there(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    expected = {*pages, *(Path(place).with_suffix("") for place in OUTSIDE.values())}
    built = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")} - {Path("404")}
    assert built == {path.with_name("index") if path.name == "README" else path for path in expected}


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    texts = {path: path.read_text() for path in site.rglob("*") if path.suffix in (".html", ".css")}
    assert len(texts) > 30
    found = {path.name: LOADED.findall(text) for path, text in texts.items()}
    assert {name: hosts for name, hosts in found.items() if hosts} == {}
    assert all("default-src 'self'" in text for path, text in texts.items() if path.suffix == ".html")


def test_loads_from_other_hosts_would_be_found() -> None:
    """Guard the test above."""
    bad = [
        '<script src="https://x.example/a.js">',
        "<link rel=stylesheet href=//x.example/a.css>",
        "url(https://x.example/f)",
    ]
    assert all(LOADED.search(text) for text in bad)
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
