"""The request that an HTTP target receives: what the user defined, checked, and the headers that are ours."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from onthedot import __version__
from onthedot.domain.targets.types import HttpTarget
from onthedot.ports import Call
from onthedot.targets.attempt import about
from onthedot.targets.http.place import HttpDestination, RequestError, place_of

WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})
_METHODS: Final = WITHOUT_BODY | {"POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_OUR_KEY: Final = "idempotency-key"
_OUR_PREFIXES: Final = ("x-onthedot-", "webhook-")
_NOT_FOR_USERS: Final = frozenset(
    # How the message is framed and the connection used; `Expect` would make the target wait for us.
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection"}
    | {"te", "trailer", "upgrade", "expect"}
)
_FIELD_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """One request: where it goes, and what it says. Without a `body` it does not even announce an empty one."""

    place: HttpDestination
    method: str
    fields: Mapping[str, str]
    """Header fields but for those of the framing, all of them checked, no name twice."""
    body: bytes | None

    @property
    def host(self) -> str:
        return self.place.host

    @property
    def content(self) -> bytes:
        """Its bytes on the wire."""
        framing = {"Host": self.place.authority, "Connection": "close"}
        if self.body is not None:
            framing["Content-Length"] = str(len(self.body))
        head = "".join(f"{name}: {value}\r\n" for name, value in {**framing, **self.fields}.items())
        return f"{self.method} {self.place.path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + (self.body or b"")


def request_for(call: Call) -> OutgoingRequest:
    """The first request of one attempt.

    :raises RequestError: with a message that says what to change and repeats no secret
    """
    target = call.definition.target
    assert isinstance(target, HttpTarget), "the router hands each caller its own kind"
    method = target.method.upper()
    if method not in _METHODS:
        raise RequestError(f"method {target.method[:20]!r} is not supported")
    body = None if method in WITHOUT_BODY else call.payload
    return OutgoingRequest(place_of(target.url), method, _fields(call, target, body is not None), body)


def is_ours(name: str) -> bool:
    """Whether a header says something about the run; users cannot set it."""
    return name.lower() == _OUR_KEY or name.lower().startswith(_OUR_PREFIXES)


def _fields(call: Call, target: HttpTarget, has_body: bool) -> dict[str, str]:
    """Header fields: defaults, then the user's, then ours, where the later one wins in any spelling."""
    defaults = {"Accept-Encoding": "identity", "User-Agent": f"onthedot/{__version__}"}
    if has_body:
        defaults["Content-Type"] = "application/json"
    told = about(call)
    ours = {
        "Idempotency-Key": told["idempotency_key"],
        "X-Onthedot-Job": told["job"],
        "X-Onthedot-Run": told["run"],
        "X-Onthedot-Attempt": told["attempt"],
        "X-Onthedot-Fire-Time": told["fire_time"],
        **call.signature,
    }
    users = {name: value for name, value in target.headers.items() if _is_free(name)}
    spelled = {name.lower(): name for part in (defaults, users, ours) for name in part}
    values = {name.lower(): value for part in (defaults, users, ours) for name, value in part.items()}
    return _checked({spelled[name]: value for name, value in values.items()})


def _is_free(name: str) -> bool:
    return name.lower() not in _NOT_FOR_USERS and not is_ours(name)


def _checked(fields: dict[str, str]) -> dict[str, str]:
    for name, value in fields.items():
        if not _FIELD_NAME.fullmatch(name):
            raise RequestError(f"{name[:80]!r} is not a header name")
        if not _FIELD_VALUE.fullmatch(value):
            raise RequestError(f"the value of header {name[:80]} holds a line break or a character beyond Latin-1")
    return fields
