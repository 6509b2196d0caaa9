"""A transport that answers as a test says, and remembers every request."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onthedot.client import Client
from onthedot.client.transport import NoAnswer, Reply

JOB = {"job_id": "job_1", "status": "PENDING", "version": 1, "name": None, "next_fire_time": "2026-03-01T12:00:00.000Z"}
LOST = NoAnswer("no reply", may_have_arrived=True)
REFUSED = NoAnswer("connection refused", may_have_arrived=False)


@dataclass(frozen=True)
class Sent:
    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    headers: Mapping[str, str]


@dataclass
class ScriptedTransport:
    """Gives one outcome after the other."""

    outcomes: list[Reply | NoAnswer]
    sent: list[Sent] = field(default_factory=list)
    closed: bool = False

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None, headers: Mapping[str, str]
    ) -> Reply:
        self.sent.append(Sent(method, path, dict(query), None if body is None else json.loads(body), dict(headers)))
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, NoAnswer):
            raise outcome
        return outcome

    def close(self) -> None:
        self.closed = True


def a_reply(document: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(status, json.dumps(document).encode(), {name.replace("_", "-"): v for name, v in headers.items()})


def a_refusal(status: int, code: str, message: str = "no", details: Sequence[Any] = (), **headers: str) -> Reply:
    return a_reply({"error": {"code": code, "message": message, "details": list(details)}}, status, **headers)


def a_client(*outcomes: Reply | NoAnswer, tries: int = 4) -> tuple[Client, ScriptedTransport, list[float]]:
    """Return a client, its transport, and the list of its pauses."""
    transport, pauses = ScriptedTransport(list(outcomes)), list[float]()
    return Client(token="otd_x", transport=transport, tries=tries, sleep=pauses.append), transport, pauses
