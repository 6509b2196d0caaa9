"""`onthedot serve` as a home of the end-to-end scenarios."""

from dataclasses import dataclass
from pathlib import Path

from tests.e2e.control import Control, by_a_process
from tests.e2e.homes import Api, Home
from tests.e2e.listener import Listener
from tests.served import ServerProcess

POLL_SECONDS = 0.02
PACE = 0.25


@dataclass
class Served(Home):
    """A server in a process of its own."""

    name: str
    server: ServerProcess
    listener: Listener
    pace: float = PACE

    @property
    def home(self) -> Path:  # type: ignore[override] # it has no setter
        return self.server.home

    @property
    def api(self) -> Api:
        return Api(self.server.url, self.server.token, POLL_SECONDS)

    def api_of(self, tenant: str) -> Api:
        wanted = {"tenant": tenant, "role": "admin", "name": "e2e"}
        status, made = self.api.call("POST", "/v1/tokens", wanted)
        assert status == 201, made
        return Api(self.server.url, made["token"], POLL_SECONDS)

    def control(self, at: int) -> Control:
        return Control(self.listener, by_a_process, at)
