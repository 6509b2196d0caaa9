"""A request and a response as plain values, so that the same API serves Lambda and the embedded server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onthedot.access.ports import Principal
from onthedot.core import json_text
from onthedot.core.ids import fresh_generation
from onthedot.core.stopping import Stop
from onthedot.core.traces import HEADER, fresh_trace, read_traceparent


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is already authenticated. `principal` is None when the caller sent no valid token."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    """The parameters. Of one that is given more than once, the last value."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    principal: Principal | None = None
    request_id: str = field(default_factory=fresh_generation)
    """The id in every answer, by which an operator finds the log line of a call that a user complains about."""
    gone: Stop | None = None
    """Asked when the caller has hung up, or the server stops. None: the call must not wait."""
    public_url: str = ""
    """The URL of the API before the path, for its description. Empty if it is not known."""

    repeated_query: tuple[str, ...] = ()
    """The names of parameters that are given more than once."""
    own_trace: str = field(default_factory=fresh_trace)
    """The trace of a call whose caller sends none."""

    @property
    def trace(self) -> str:
        """The trace that the caller sent as `traceparent`, or one of the call's own."""
        return read_traceparent(self.header(HEADER)) or self.own_trace

    def header(self, name: str) -> str | None:
        """Return None when it was not sent. The case of the name does not matter."""
        lower = name.lower()
        return next((value for key, value in self.headers.items() if key.lower() == lower), None)


@dataclass(frozen=True, slots=True)
class Response:
    """A response. A `str` body is sent as it is, any other body as JSON."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    etag_is_of_body: bool = False
    """The header `ETag` changes with each change of the body, so it may decide about a 304."""
    rendered: str | None = field(default=None, repr=False, compare=False)
    """The text of the body, if it was made already."""

    @property
    def text(self) -> str:
        if self.rendered is not None:
            return self.rendered
        if isinstance(self.body, str):
            return self.body
        return json_text.to_text(self.body)
