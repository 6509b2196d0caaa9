"""The request that an HTTP target receives: the parts that the user defined, and the headers of the scheduler."""

from collections.abc import Mapping
from dataclasses import dataclass

from onthedot import __version__
from onthedot.domain.targets.http_rules import HttpDestination, body_of, check_target
from onthedot.domain.targets.types import HttpTarget
from onthedot.ports import Call
from onthedot.targets.attempt_facts import attempt_facts


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """One HTTP request with its destination."""

    destination: HttpDestination
    method: str
    fields: Mapping[str, str]
    """Header fields without those of the framing. All are checked, and no name occurs twice."""
    body: bytes | None
    """None for a request that has no body and announces none."""

    @property
    def host(self) -> str:
        return self.destination.host

    @property
    def content(self) -> bytes:
        """The bytes to send."""
        framing = {"Host": self.destination.authority, "Connection": "close"}
        if self.body is not None:
            framing["Content-Length"] = str(len(self.body))
        head = "".join(f"{name}: {value}\r\n" for name, value in {**framing, **self.fields}.items())
        return f"{self.method} {self.destination.path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + (self.body or b"")


def request_for(call: Call) -> OutgoingRequest:
    """Return the first request of one attempt.

    Raise BadTarget when the target breaks a rule. The API has the same rules, but the target may have been stored under
    older rules.
    """
    target = call.definition.target
    assert isinstance(target, HttpTarget), "the router passes each performer its own type"
    destination = check_target(target)
    body = body_of(target.method, call.payload)
    return OutgoingRequest(destination, target.method, _fields(call, target, has_body=body is not None), body)


def _fields(call: Call, target: HttpTarget, *, has_body: bool) -> dict[str, str]:
    """Return defaults, the user's headers and the scheduler's. The later one wins, in any spelling of the name."""
    defaults = {"Accept-Encoding": "identity", "User-Agent": f"onthedot/{__version__}"}
    if has_body:
        defaults["Content-Type"] = "application/json"
    if call.traceparent:
        defaults["Traceparent"] = call.traceparent
    facts = attempt_facts(call)
    about_the_run = {
        "Idempotency-Key": facts["idempotency_key"],
        "X-Onthedot-Job": facts["job"],
        "X-Onthedot-Run": facts["run"],
        "X-Onthedot-Attempt": facts["attempt"],
        "X-Onthedot-Fire-Time": facts["fire_time"],
        **call.signature,
    }
    merged = {
        name.lower(): (name, value)
        for part in (defaults, target.headers, about_the_run)
        for name, value in part.items()
    }
    return dict(merged.values())
