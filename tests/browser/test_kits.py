"""The kits see what a page must not do: a check that finds nothing must be able to find something."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.browser.kits.axe import axe
from tests.browser.kits.console import open_console

PAGE = """<!doctype html><html lang="en"><head><title>Kit</title></head>
<body><main><h1>Kit</h1>{body}</main></body></html>"""
POLICY = "default-src 'none'; script-src 'self'; img-src *; connect-src 'self'"
SCRIPTS = {"/error.js": "console.error('as the page says')", "/throws.js": "throw new Error('thrown')"}
BODIES = {
    "/fine": "<p>All is well.</p>",
    "/error": "<script src='/error.js'></script>",
    "/throws": "<script src='/throws.js'></script>",
    "/inline": "<script>document.title = 'never'</script>",
    "/foreign": "<img alt='a dot' src='http://127.0.0.1:9/dot.png'>",
    "/missing": "<script src='/nothing.js'></script>",
    "/unlabelled": "<input><img src='/fine'>",
}


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Pages that each break one rule, under a strict content policy."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            script, body = SCRIPTS.get(self.path), BODIES.get(self.path)
            text = script if script is not None else None if body is None else PAGE.format(body=body)
            self.send_response(404 if text is None and self.path != "/favicon.ico" else 200)
            self.send_header("Content-Type", "text/html" if script is None else "text/javascript")
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write((text or "").encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def open_page(site: str, path: str, *allowed: str) -> list[str]:
    """Open a page, and return the faults that were seen."""
    with open_console(site, None, None) as console:
        console.watch.allow(*allowed)
        console.page.goto(site + path, wait_until="load")
        expect(console.page.get_by_role("heading")).to_be_visible()
    return console.watch.wrong


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/error", "as the page says"),
        ("/throws", "thrown"),
        ("/inline", "breach of the content policy: script-src"),
        ("/foreign", "request to another host: http://127.0.0.1:9/dot.png"),
        ("/missing", "404"),
    ],
)
def test_each_fault_of_a_page_fails_its_test(site: str, path: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        open_page(site, path)


def test_axe_finds_what_has_no_name_in_spite_of_the_policy(site: str) -> None:
    with open_console(site, None, None) as console:
        console.page.goto(f"{site}/unlabelled")
        found = " ".join(axe(console.page))
        console.watch.allow("image")
    assert "label" in found
    assert "image-alt" in found
