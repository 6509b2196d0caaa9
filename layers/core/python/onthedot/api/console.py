"""The files of the console and their routes. They need no token: the page asks its reader for one."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from onthedot.api.errors import ApiError
from onthedot.api.http import Response
from onthedot.api.route import RequestContext, Route

FOLDER: Final = Path(__file__).parents[1] / "console"
PAGE: Final = "index.html"
CONTENT_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
}
"""The kinds of files that are served. Licences and lists of versions are not."""
_HASH_PLACE: Final = "CONTENT_HASH"
"""The text in the page where the hash of all files goes."""


@dataclass(frozen=True, slots=True)
class ConsoleFile:
    """One file as it is sent."""

    text: str
    content_type: str
    etag: str


@dataclass(frozen=True, slots=True)
class ConsoleFiles:
    """The page, and all other files by their path under the folder of the hash."""

    page: ConsoleFile
    by_path: Mapping[str, ConsoleFile]
    """By `HASH/app.js`. A path that is not a key is answered 404, so no request reaches the file system."""


@cache
def console_files() -> ConsoleFiles:
    """Return the files. The hash is made of all of them, so a changed file gives each file a new path."""
    texts = dict(sorted(_read(FOLDER)))
    content_hash = _hash("\0".join(part for item in texts.items() for part in item))[:16]
    page = texts.pop(PAGE).replace(_HASH_PLACE, content_hash)
    files = {f"{content_hash}/{path}": _file(path, text) for path, text in texts.items()}
    return ConsoleFiles(_file(PAGE, page), files)


def _read(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*"):
        if path.suffix in CONTENT_TYPES and path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_text("utf-8")


def _file(path: str, text: str) -> ConsoleFile:
    return ConsoleFile(text, CONTENT_TYPES[Path(path).suffix], f'"{_hash(text)[:32]}"')


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""What the browser may load: files of this host. There is no inline code, and no other host."""
_SAFETY: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Accept-Encoding",
}
_ASK_EACH_TIME: Final = "no-cache"
_FOR_EVER: Final = "public, max-age=31536000, immutable"


def show_console(context: RequestContext) -> Response:
    # The links of the page start with `console/`, so that they hold under any path before `/console`.
    del context
    return _response(console_files().page, _ASK_EACH_TIME)


def redirect_to_console(context: RequestContext) -> Response:
    """Lead to `/console`, where the page's links are right."""
    del context
    return Response(308, "", {"Location": "../console", **_SAFETY})


def show_console_file(context: RequestContext) -> Response:
    # The path of a file has the hash of its content, so a browser keeps it forever.
    file = console_files().by_path.get(context.id)
    if file is None:
        raise ApiError(404, "not_found", "the console has no such file; load the page again")
    return _response(file, _FOR_EVER)


def _response(file: ConsoleFile, caching: str) -> Response:
    headers = {"Content-Type": file.content_type, "Cache-Control": caching, "ETag": file.etag, **_SAFETY}
    return Response(200, file.text, headers, etag_is_of_body=True)


ROUTES: Final[tuple[Route, ...]] = (
    Route("GET", "/console", show_console, "Get the console, a page for a browser", str, is_open=True, is_page=True),
    Route("GET", "/console/", redirect_to_console, "Go to the console", str, is_open=True, is_page=True),
    Route("GET", "/console/{file}", show_console_file, "Get a file of the console", str, is_open=True, is_page=True),
)
