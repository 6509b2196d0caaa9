"""The description of a route, the values that its function gets, and the table that finds a route by its path."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from onthedot.api.core.errors import ApiError
from onthedot.api.core.http import Request
from onthedot.domain.errors import JobNotFound
from onthedot.domain.ids import is_stamped
from onthedot.ports import Engine

_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}", re.ASCII)
"""The shape of every id. A text of another shape is answered like an unknown path, before a store sees it."""
_PLACE: Final = "{id}"


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The values that a route's function gets. The tenant is empty on routes that need no token."""

    engine: Engine
    request: Request
    tenant: str
    id: str

    @property
    def job_id(self) -> str:
        """Return the id in the path, which must be the id of a job. Raise JobNotFound when it is the id of a run."""
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
    is_secret: bool = False
    """Hidden from the viewer role."""
    for_workers: bool = False
    """Also open to the worker role, whose tokens do nothing but run jobs."""
    body: Any = None
    """The model of the request's body."""
    body_may_be_left_out: bool = False
    query: Any = None
    """The model of the query parameters."""
    headers: tuple[str, ...] = ()
    """Headers that the route reads."""
    errors: tuple[int, ...] = ()
    """Statuses of refusals, besides 401, 403, 503 and 500."""


class RouteTable:
    """Routes by path, so that finding one does not look at all of them."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            self._by_path.setdefault(route.path, {})[route.method] = route
        self._most_segments = max(path.count("/") for path in self._by_path) + 1

    def find(self, method: str, path: str) -> tuple[Route, str]:
        """Return the route and the id in the path, or "" when it has none. Raise ApiError 404 or 405."""
        matching = self._matching(path)
        if not matching:
            raise ApiError(404, "not_found", "there is nothing at this path; GET /openapi.json lists what is")
        if method not in matching:
            allowed = ", ".join(sorted(matching))
            raise ApiError(405, "method_not_allowed", f"use {allowed} here", headers={"Allow": allowed})
        return matching[method]

    def _matching(self, path: str) -> Mapping[str, tuple[Route, str]]:
        """Return the routes of a path by method. A path may be spelled out in one route and fit `{id}` in another."""
        segments = path.split("/")
        if len(segments) > self._most_segments:
            return {}
        matching: dict[str, tuple[Route, str]] = {}
        for number, segment in enumerate(segments):
            template = "/".join((*segments[:number], _PLACE, *segments[number + 1 :]))
            if template in self._by_path and _ID.fullmatch(segment):
                matching |= {method: (route, segment) for method, route in self._by_path[template].items()}
        if _PLACE not in segments:
            matching |= {method: (route, "") for method, route in self._by_path.get(path, {}).items()}
        return matching
