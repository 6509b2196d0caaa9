"""The routes of the console. They need no token: the page asks its reader for one, and sends it to the API."""

from typing import Final

from onthedot.api.console.files import ConsoleFile, console_files
from onthedot.api.core.errors import ApiError
from onthedot.api.core.http import Response
from onthedot.api.core.route import RequestContext, Route

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
    """Answer the page. Its links start with `console/`, so that they hold under any path before `/console`."""
    del context
    return _response(console_files().page, _ASK_EACH_TIME)


def redirect_to_console(context: RequestContext) -> Response:
    """Lead from `/console/` to `/console`, where the page's links are right."""
    del context
    return Response(308, "", {"Location": "../console", **_SAFETY})


def show_console_file(context: RequestContext) -> Response:
    """Answer a file. Its path has the hash of its content, so a browser keeps it for ever."""
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
