"""What a route is, and how a path finds its own."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from onthedot.api.core.errors import ApiError
from onthedot.api.core.http import Request
from onthedot.domain.errors import JobNotFound
from onthedot.domain.ids import is_stamped
from onthedot.ports import Engine

# The shape of every id. What is not one is answered like a missing one, before a store sees it.
_ID: Final = r"[A-Za-z0-9_.:-]{1,128}"


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What a route's function is given. The tenant is empty on open routes."""

    engine: Engine
    request: Request
    tenant: str
    id: str

    @property
    def job_id(self) -> str:
        """The id in the path where it must be a job's: a run has one too, and is no job. Raises JobNotFound."""
        if is_stamped(self.id):
            raise JobNotFound(self.id)
        return self.id


@dataclass(frozen=True, slots=True)
class Route:
    """One call of the API: how it is found, who may use it, and what stands in its description."""

    method: str
    path: str
    action: Callable[[RequestContext], Any]
    """Answers the body, or a whole Response where there is more to say."""
    summary: str
    answer: Any
    status: int = 200
    is_open: bool = False
    """Needs no token."""
    is_secret: bool = False
    """Shows what not everybody who may read may see."""
    for_workers: bool = False
    """Also for the tokens of machines that do nothing but run jobs."""
    body: Any = None
    body_may_be_left_out: bool = False
    query: Any = None
    headers: tuple[str, ...] = ()
    """Those that a caller may send."""
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
