"""What a route is, and how a path finds its own."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from onthedot.api.errors import ApiError
from onthedot.api.http import Request
from onthedot.ports import Engine

# The shape of every id. What is not one is answered like a missing one, before a store sees it.
_ID: Final = r"[A-Za-z0-9_.:-]{1,128}"


@dataclass(frozen=True, slots=True)
class Context:
    """What a route's function is given. The tenant is empty on open routes."""

    engine: Engine
    request: Request
    tenant: str
    id: str


@dataclass(frozen=True, slots=True)
class Route:
    """One call of the API: how it is found, who may use it, and what stands in its description."""

    method: str
    path: str
    action: Callable[[Context], Any]
    summary: str
    answer: Any
    status: int = 200
    is_open: bool = False
    """Needs no token."""
    body: Any = None
    errors: tuple[int, ...] = ()

    def match(self, path: str) -> str | None:
        """The id in the path ("" where the route has none), or None when the path is another's."""
        pattern = re.escape(self.path).replace(r"\{id\}", f"({_ID})")
        found = re.fullmatch(pattern, path, re.ASCII)
        return None if found is None else "".join(found.groups())


def find_route(routes: Sequence[Route], method: str, path: str) -> tuple[Route, str]:
    """The route and the id in the path. Raises ApiError 404 or 405."""
    here: Mapping[str, tuple[Route, str]] = {
        route.method: (route, found) for route in routes if (found := route.match(path)) is not None
    }
    if not here:
        raise ApiError(404, "not_found", "there is nothing at this path; GET /openapi.json lists what is")
    if method not in here:
        allowed = ", ".join(sorted(here))
        raise ApiError(405, "method_not_allowed", f"use {allowed} here", headers={"Allow": allowed})
    return here[method]
