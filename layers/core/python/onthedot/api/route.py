"""The description of a route, the values that its function gets, and the table that finds a route by its path."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from onthedot.api.errors import ApiError
from onthedot.api.http import Request
from onthedot.core.errors import JobNotFound
from onthedot.core.ids import is_stamped
from onthedot.engine import Engine

_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}", re.ASCII)
"""The shape of every id. A text of another shape is answered like an unknown path, before a store sees it."""
_PLACE: Final = "{id}"
_TEXT: Final = re.compile(r"(.*/)\{(?:name|tenant|file)\}")
"""A path that ends in a text of the user, percent-encoded. The text may have any characters, also a slash."""
_LONGEST_TEXT: Final = 256


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The values that a route's function gets for one request. The tenant is empty on routes that need no token."""

    engine: Engine
    request: Request
    tenant: str
    id: str
    """The id, the name or the tenant in the path."""

    @property
    def caller(self) -> str | None:
        """The name of the caller's token. Routes that need no token have none."""
        return None if self.request.principal is None else self.request.principal.name

    @property
    def job_id(self) -> str:
        """Raise JobNotFound when the id in the path is that of a run."""
        if is_stamped(self.id):
            raise JobNotFound(self.id)
        return self.id


@dataclass(frozen=True, slots=True)
class Route:
    """One call of the API: its method and path, the roles that may use it, and its entry in the OpenAPI document."""

    method: str
    path: str
    action: Callable[[RequestContext], Any]
    """Returns the body, or a whole Response where headers or another status are needed."""
    summary: str
    answer: Any
    """The type of the body."""
    status: int = 200
    is_open: bool = False
    """Needs no token."""
    is_page: bool = False
    """A page or a file for browsers. It is not in the OpenAPI document."""
    is_secret: bool = False
    """Hidden from the viewer role."""
    for_admins: bool = False
    """Only for the admin role, whose tokens act for all tenants of the stage."""
    for_viewers: bool = False
    """Open to the viewer role although it is not a GET: it changes nothing."""
    for_workers: bool = False
    """Also open to the worker role, whose tokens do nothing but run jobs."""
    while_closed: bool = False
    """Works also while the stage is frozen or imports data. Every GET does."""
    is_logged: bool = True
    """Whether its calls are logged with their principal, if its method is not GET. Calls that workers make for each
    run are not: the record of the run names its worker. Neither are calls that change nothing."""
    body: Any = None
    """The model of the request's body."""
    body_may_be_left_out: bool = False
    query: Any = None
    """The model of the query parameters. None: it takes none."""
    ignores_query: bool = False
    """Ignores parameters, because a probe may add its own."""
    headers: tuple[str, ...] = ()
    """Headers that the route reads."""
    errors: tuple[int, ...] = ()
    """Statuses of refusals, besides 401, 403, 422, 503 and 500."""
    other_statuses: tuple[int, ...] = ()
    """Further statuses of an answer with the same type of body."""
    example: tuple[str, Any] | None = field(default=None, compare=False)
    """A name and a body with which the reference shows the routes of a resource whose things have names."""


class RouteTable:
    """A table of routes by path, so that a request is not compared with every route."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._fixed: dict[str, dict[str, Route]] = {}
        self._with_id: dict[str, dict[str, Route]] = {}
        self._with_text: dict[str, dict[str, Route]] = {}
        for route in routes:
            if text := _TEXT.fullmatch(route.path):
                self._with_text.setdefault(text[1], {})[route.method] = route
            else:
                by_path = self._with_id if _PLACE in route.path else self._fixed
                by_path.setdefault(route.path, {})[route.method] = route
        self._open = frozenset(path for path, by_method in self._fixed.items() if _all_open(by_method))
        self._open_starts = tuple(start for start, by_method in self._with_text.items() if _all_open(by_method))
        self._places = {path.split("/").index(_PLACE) for path in self._with_id}

    def is_open(self, path: str) -> bool:
        """Unknown paths need a token too."""
        return path in self._open or path.startswith(self._open_starts)

    def find(self, method: str, path: str) -> tuple[Route, str]:
        """Return the route and the id or text in the path, or "" when it has none. Raise ApiError 404 or 405."""
        matching = self._matching(path)
        for by_method, found_id in matching:
            if method in by_method:
                return by_method[method], found_id
        if not matching:
            raise ApiError(404, "not_found", "there is nothing at this path; GET /openapi.json lists what is")
        allowed = ", ".join(sorted({name for by_method, _ in matching for name in by_method}))
        raise ApiError(405, "method_not_allowed", f"use {allowed} here", headers={"Allow": allowed})

    def _matching(self, path: str) -> list[tuple[Mapping[str, Route], str]]:
        # One path may fit a fixed route and a route with `{id}`.
        matching: list[tuple[Mapping[str, Route], str]] = []
        if path in self._fixed:
            matching.append((self._fixed[path], ""))
        segments = path.split("/")
        for place, segment in enumerate(segments):
            if place in self._places and _ID.fullmatch(segment):
                template = "/".join((*segments[:place], _PLACE, *segments[place + 1 :]))
                if template in self._with_id:
                    matching.append((self._with_id[template], segment))
        for prefix, by_method in self._with_text.items():
            if path.startswith(prefix) and (text := _text(path.removeprefix(prefix))):
                matching.append((by_method, text))
        return matching


def _all_open(by_method: Mapping[str, Route]) -> bool:
    return all(route.is_open for route in by_method.values())


def _text(encoded: str) -> str:
    """Return the text of a user in a path. It is empty when it is too long or no UTF-8."""
    try:
        text = unquote(encoded, errors="strict")
        text.encode()
    except UnicodeError:
        return ""
    return text if len(text) <= _LONGEST_TEXT else ""
