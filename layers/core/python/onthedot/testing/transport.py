"""The API in this process as the transport of a client: the same API code, without a server."""

from collections.abc import Mapping
from dataclasses import dataclass

from onthedot.api.core.http import Request
from onthedot.api.core.router import handle
from onthedot.client.transport import Reply
from onthedot.ports import Engine
from onthedot.use_cases.access.tokens import authenticate


@dataclass(frozen=True, slots=True)
class InProcessTransport:
    """A `Transport` that calls the API's code."""

    engine: Engine

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        principal = authenticate(self.engine.tokens, headers.get("Authorization"))
        request = Request(method, path, dict(query), headers, body or b"", principal)
        response = handle(self.engine, request)
        named = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status, response.text.encode(), named)

    def close(self) -> None:
        """Do nothing: there is no connection."""
