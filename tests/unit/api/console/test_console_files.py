"""The console as it is served: headers, paths, sizes, and the libraries in it."""

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from onthedot.api.console import FOLDER, console_files
from tests.builders import a_world
from tests.unit.api.kit import Api

MOST_FIRST_LOAD = 120 * 1024
STATEMENT = r"""(?:^|;)\s*(?:import|export)\b[^;"']*?\bfrom\s*["']([^"']+)["']|(?:^|;)\s*import\s*["']([^"']+)["']"""
"""An import at the start of a module. A text such as "from" in an array is none."""
IMPORT = re.compile(rf"""{STATEMENT}|\bimport\s*\(\s*["']([^"']+)["']""", re.MULTILINE)
EARLY = re.compile(STATEMENT, re.MULTILINE)
VENDOR = FOLDER / "vendor"
MODULES = sorted(FOLDER.rglob("*.js"))


@pytest.fixture
def api() -> Iterator[Api]:
    with a_world() as world:
        yield Api(world, None)


def page_links() -> list[str]:
    return re.findall(r'(?:href|src)="([^"]+)"', console_files().page.text)


def test_the_page_needs_no_token_and_is_asked_for_each_time(api: Api) -> None:
    response = api.get("/console")
    assert response.status == 200
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-cache"
    assert "CONTENT_HASH" not in response.text


def test_a_file_is_kept_for_ever(api: Api) -> None:
    response = api.get(f"/{next(link for link in page_links() if link.endswith('app.js'))}")
    assert response.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert "immutable" in response.headers["Cache-Control"]
    assert response.text == (FOLDER / "app.js").read_text()


@pytest.mark.parametrize("path", ["/console", f"/console/{next(iter(console_files().by_path))}"])
def test_the_policy_allows_no_other_host_and_no_inline_code(api: Api, path: str) -> None:
    headers = api.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_the_page_has_no_inline_code_and_its_links_are_relative_and_lead_somewhere(api: Api) -> None:
    text = console_files().page.text
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text)
    assert len(page_links()) > 10
    for link in page_links():
        assert link.startswith("console/")
        assert api.get(f"/{link}").status == 200


@pytest.mark.parametrize("path", ["/console", f"/console/{next(iter(console_files().by_path))}"])
def test_what_a_browser_has_already_is_not_sent_again(api: Api, path: str) -> None:
    tag = api.get(path).headers["ETag"]
    again = api.call("GET", path, headers={"If-None-Match": f'"other", W/{tag}'})
    assert (again.status, again.text, again.headers["ETag"]) == (304, "", tag)
    assert api.call("GET", path, headers={"If-None-Match": '"other"'}).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/console/../../settings.py",
        "/console/%2e%2e/settings.py",
        "/console/HASH/../../__init__.py",
        "/console/HASH/%2e%2e/%2e%2e/__init__.py",
        "/console/HASH/vendor/vendor.json",
        "/console/HASH//etc/passwd",
        "/console/HASH/index.html",
        "/console/0000000000000000/app.js",
        "/console/app.js",
        "/console/%00",
    ],
)
def test_nothing_but_the_files_of_the_console_is_served(api: Api, path: str) -> None:
    content_hash = next(iter(console_files().by_path)).split("/")[0]
    assert api.get(path.replace("HASH", content_hash)).status == 404


def test_a_slash_at_the_end_leads_to_the_page(api: Api) -> None:
    response = api.get("/console/")
    assert (response.status, response.headers["Location"]) == (308, "../console")


def test_modules_import_only_files_that_are_there_by_relative_paths() -> None:
    imports = [(module, "".join(found)) for module in MODULES for found in IMPORT.findall(module.read_text())]
    assert len(imports) > 100
    assert [one for one in imports if not (one[1].startswith(".") and (one[0].parent / one[1]).is_file())] == []


def reached(module: Path, seen: set[Path]) -> set[Path]:
    """A module and all that it imports before it runs."""
    if module not in seen:
        seen.add(module)
        for one, other in EARLY.findall(module.read_text()):
            reached((module.parent / (one or other)).resolve(), seen)
    return seen


def test_the_first_load_is_small() -> None:
    """The page, its styles, all modules of the shell and of the overview, and the library of its chart."""
    modules = reached(FOLDER / "app.js", set()) | reached(FOLDER / "views" / "overview.js", set())
    linked = {(FOLDER / link.split("/", 2)[2]).resolve() for link in page_links()}
    files = {FOLDER / "index.html", FOLDER / "vendor" / "uplot.js"} | modules | linked
    size = sum(len(gzip.compress(file.read_bytes(), 6)) for file in files)
    assert len(modules) > 20
    assert size <= MOST_FIRST_LOAD


def test_libraries_are_those_that_were_recorded() -> None:
    records = json.loads((VENDOR / "vendor.json").read_text())
    assert {record["file"] for record in records} == {
        path.name for path in VENDOR.iterdir() if path.suffix in {".js", ".css"}
    }
    for record in records:
        assert hashlib.sha256((VENDOR / record["file"]).read_bytes()).hexdigest() == record["sha256"]
        assert "ermi" in (VENDOR / record["licence_file"]).read_text()  # permission, or permissions
        assert record["version"]
        assert record["licence"]


def test_no_module_uses_what_the_policy_forbids() -> None:
    forbidden = re.compile(r"[\s<]style=|innerHTML|\beval\(|new Function|https?://(?!example\.com)")
    own = [path for path in MODULES if VENDOR not in path.parents]
    assert [path.name for path in own if forbidden.search(path.read_text())] == []
