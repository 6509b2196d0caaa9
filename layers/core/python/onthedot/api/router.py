"""Answer one request. The answer to an unexpected error shows nothing of its cause."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from onthedot.api.errors import ApiError, error_response, response_to
from onthedot.api.http import Request, Response
from onthedot.api.lists import conditional
from onthedot.api.reading import check_query
from onthedot.api.route import RequestContext, Route, RouteTable
from onthedot.api.routes import ROUTES
from onthedot.core.errors import OnthedotError, StageClosed, Unavailable
from onthedot.engine import Engine

logger: Final = logging.getLogger(__name__)
ROLES: Final[Mapping[str, Callable[[Route], bool]]] = {
    "admin": lambda _: True,
    "operator": lambda route: not route.for_admins,
    "viewer": lambda route: (route.method == "GET" or route.for_viewers) and not (route.is_secret or route.for_admins),
    "worker": lambda route: route.for_workers,
}
"""The routes that each role may use. A role that is not listed may use none."""
_TABLE: Final = RouteTable(ROUTES)


def handle(engine: Engine, request: Request) -> Response:
    """Raise nothing: an unexpected error is logged and answered with 500."""
    try:
        response = _answer(engine, request)
    except Exception:
        logger.exception("request_failed", extra=_context(request))
        response = _internal_error(request)
    _log_change(request, response)
    return conditional(request, _with_common_headers(response, request))


def _log_change(request: Request, response: Response) -> None:
    """Log a call that changes something, done or refused, with its principal. Bodies may have secrets and are not."""
    principal = request.principal
    if request.method == "GET" or principal is None:
        return
    try:
        route, found_id = _TABLE.find(request.method, request.path)
    except ApiError:
        return
    if not route.is_logged:
        return
    made_id = response.body.get("job_id") if isinstance(response.body, dict) else None
    about = {
        "request_id": request.request_id,
        "method": request.method,
        "route": route.path,
        "id": found_id or made_id,
        "principal": principal.name,
        "tenant": principal.tenant,
        "role": principal.role,
        "status": response.status,
    }
    logger.info("change_requested", extra=about)


def _answer(engine: Engine, request: Request) -> Response:
    try:
        return _perform(engine, request)
    except (ApiError, OnthedotError) as error:
        response = response_to(error)
        if response is None:
            raise
        if isinstance(error, StageClosed):
            logger.warning("stage_closed", extra={**_context(request), "why": str(error)})
        elif isinstance(error, Unavailable):
            logger.warning("request_unavailable", extra=_context(request), exc_info=True)
        return response


def _perform(engine: Engine, request: Request) -> Response:
    # A caller without a token learns nothing about other paths, not even which of them exist.
    if request.principal is None and not _TABLE.is_open(request.path):
        raise _unauthorized()
    route, found_id = _TABLE.find(request.method, request.path)
    tenant = "" if route.is_open else _authorized_tenant(route, request)
    check_query(route, request)
    _refuse_while_closed(engine, route)
    answer = route.action(RequestContext(engine, request, tenant, found_id))
    return answer if isinstance(answer, Response) else Response(route.status, answer)


def _refuse_while_closed(engine: Engine, route: Route) -> None:
    if route.method == "GET" or route.while_closed:
        return
    state = engine.stage.read()
    if not state.is_open:
        raise StageClosed(state.why_closed)


def _authorized_tenant(route: Route, request: Request) -> str:
    principal = request.principal
    if principal is None:
        raise _unauthorized()
    may_use = ROLES.get(principal.role)
    if may_use is None or not may_use(route):
        needed = "an admin's" if route.for_admins else "an operator's or admin's"
        raise ApiError(403, "forbidden", f"your token's role does not allow this; use {needed}")
    return principal.tenant


def _unauthorized() -> ApiError:
    headers = {"WWW-Authenticate": "Bearer"}
    return ApiError(401, "unauthorized", "send a valid token as `Authorization: Bearer …`", headers=headers)


def _internal_error(request: Request) -> Response:
    return error_response(500, "internal", f"something failed on our side; report request {request.request_id}")


def _context(request: Request) -> dict[str, Any]:
    return {"request_id": request.request_id, "method": request.method, "path": request.path}


def _with_common_headers(response: Response, request: Request) -> Response:
    content_type = "text/plain; charset=utf-8" if isinstance(response.body, str) else "application/json"
    common = {"Content-Type": content_type, "Cache-Control": "no-store", "X-Request-Id": request.request_id}
    return replace(response, headers={**common, **response.headers})
