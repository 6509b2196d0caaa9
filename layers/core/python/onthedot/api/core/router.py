"""One request in, one response out. Never raises, and never shows what went wrong inside."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from onthedot.api.core.errors import ApiError, answer_to, error_response
from onthedot.api.core.http import Request, Response
from onthedot.api.core.route import RequestContext, Route, find_route
from onthedot.api.core.routes import ROUTES
from onthedot.domain.errors import OnthedotError, Unavailable
from onthedot.ports import Engine

logger: Final = logging.getLogger(__name__)
ROLES: Final[Mapping[str, Callable[[Route], bool]]] = {
    "admin": lambda _: True,
    "operator": lambda _: True,
    "viewer": lambda route: route.method == "GET" and not route.is_secret,
    "worker": lambda route: route.for_workers,
}
"""What each role may do; one that is not here may do nothing."""


def handle(engine: Engine, request: Request) -> Response:
    """The answer to a request, whatever the request is."""
    try:
        response = _answer(engine, request)
    except Exception:
        logger.exception("request_failed", extra=_context(request))
        response = _internal(request)
    return _complete(response, request)


def _answer(engine: Engine, request: Request) -> Response:
    try:
        return _perform(engine, request)
    except (ApiError, OnthedotError) as error:
        response = answer_to(error)
        if response is None:
            raise
        if isinstance(error, Unavailable):
            logger.warning("request_unavailable", extra=_context(request), exc_info=True)
        return response


def _perform(engine: Engine, request: Request) -> Response:
    route, found = find_route(ROUTES, request.method, request.path)
    tenant = "" if route.is_open else _authorized_tenant(route, request)
    answer = route.action(RequestContext(engine, request, tenant, found))
    return answer if isinstance(answer, Response) else Response(route.status, answer)


def _authorized_tenant(route: Route, request: Request) -> str:
    principal = request.principal
    if principal is None:
        headers = {"WWW-Authenticate": "Bearer"}
        raise ApiError(401, "unauthorized", "send a valid token as `Authorization: Bearer …`", headers=headers)
    may = ROLES.get(principal.role)
    if may is None or not may(route):
        raise ApiError(403, "forbidden", "your token's role does not allow this; use an operator's or admin's")
    return principal.tenant


def _internal(request: Request) -> Response:
    return error_response(500, "internal", f"something failed on our side; mention request {request.request_id}")


def _context(request: Request) -> dict[str, Any]:
    return {"request_id": request.request_id, "method": request.method, "path": request.path}


def _complete(response: Response, request: Request) -> Response:
    kind = "text/plain; charset=utf-8" if isinstance(response.body, str) else "application/json"
    common = {"Content-Type": kind, "Cache-Control": "no-store", "X-Request-Id": request.request_id}
    return replace(response, headers={**common, **response.headers})
