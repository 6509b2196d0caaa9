"""A request and a response as plain values, so that the same API serves Lambda and the embedded server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onthedot.domain import compact_json
from onthedot.domain.ids import fresh_generation
from onthedot.ports import Principal


@dataclass(frozen=True, slots=True)
class Request:
    """What came in, already authenticated: `principal` is None when the caller showed no valid token."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    principal: Principal | None = None
    request_id: str = field(default_factory=fresh_generation)
    """Named in every answer, so that a complaint finds its log line."""

    def header(self, name: str) -> str | None:
        """A header by its name in any case."""
        wanted = name.lower()
        return next((value for key, value in self.headers.items() if key.lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class Response:
    """What goes out. A `str` body is sent as it is, anything else as JSON."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        if isinstance(self.body, str):
            return self.body
        return compact_json.to_text(self.body)
