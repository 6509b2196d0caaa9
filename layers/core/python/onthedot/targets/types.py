"""The types of targets, and how they are shown: on one line, without secrets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from onthedot.targets.redaction import HIDDEN, redacted


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """An HTTP callback. Secret headers are masked when it is shown."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LambdaTarget:
    """A Lambda function that is called and waited for."""

    function: str


@dataclass(frozen=True, slots=True)
class AwsTarget:
    """One call of an AWS API. Values in `input` whose names look secret are masked when it is shown."""

    service: str
    action: str
    input: Mapping[str, Any] | None = None
    """The input of the call. None: the payload is the input."""


@dataclass(frozen=True, slots=True)
class ShellTarget:
    """A program with its arguments, started without a shell."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GrpcTarget:
    """A unary gRPC call."""

    address: str
    method: str
    """`package.Service/Method`."""
    tls: bool | None = None
    """Whether to use TLS. None: yes, except for loopback and private addresses."""


@dataclass(frozen=True, slots=True)
class PythonTarget:
    """A handler that the worker's app marks with `@job`."""

    handler: str


@dataclass(frozen=True, slots=True)
class WorkflowTarget:
    """The jobs of a workflow that was submitted with `POST /v1/workflows`. They are made from the payload."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class CanaryTarget:
    """The target of the stage's own job, which measures that runs start in time. Nothing is called."""

    name: str = ""


Target = CanaryTarget | WorkflowTarget | HttpTarget | LambdaTarget | AwsTarget | ShellTarget | GrpcTarget | PythonTarget

TYPES: Final[Mapping[str, type[Target]]] = {
    "http": HttpTarget,
    "lambda": LambdaTarget,
    "aws": AwsTarget,
    "shell": ShellTarget,
    "grpc": GrpcTarget,
    "python": PythonTarget,
    "workflow": WorkflowTarget,
    "canary": CanaryTarget,
}
"""The types by the name that users write, which is also the capability that a worker needs."""
INTERNAL: Final = frozenset({"workflow", "canary"})
"""The types that users cannot name."""
PUSHED: Final = frozenset(TYPES) - {"shell", "python"}
"""The types that the workers of a stage perform: they need no program or code of the user."""
PULLED: Final = frozenset({"http", "grpc", "shell", "python"})
"""The types that a user's own worker may offer."""
_NAMES: Final = {kind: name for name, kind in TYPES.items()}


def type_of(target: Target) -> str:
    return _NAMES[type(target)]


def to_json(target: Target) -> dict[str, Any]:
    """Return the target as JSON values, as it is stored and sent to workers."""
    fields = {name: getattr(target, name) for name in target.__slots__}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    return {"type": type_of(target), **{name: value for name, value in plain.items() if value is not None}}


def from_json(stored: Mapping[str, Any]) -> Target:
    """Return the target that `to_json` wrote. Names that the type does not have are ignored.

    Raise KeyError or TypeError for anything else.
    """
    kind = TYPES[stored["type"]]
    known = {name: value for name, value in stored.items() if name in kind.__slots__}
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}
    return kind(**fields)


MOST_CHARACTERS: Final = 200


def one_line(target: Target) -> str:
    """Return one line such as `POST https://example.com/hook` or `python send-email`.

    The query of a URL is hidden, and every text elsewhere that looks like a secret.
    """
    line = "".join(letter if letter.isprintable() else "?" for letter in " ".join(_line(target).split()))
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"


def _line(target: Target) -> str:
    match target:
        case HttpTarget():
            said = f"{target.method} {_shown_url(target.url)}"
        case LambdaTarget():
            said = f"lambda {target.function}"
        case AwsTarget():
            said = f"aws {target.service} {target.action}"
        case ShellTarget():
            said = redacted(f"shell {' '.join(target.argv)}")
        case GrpcTarget():
            said = f"grpc {redacted(target.address)} {target.method}"
        case PythonTarget():
            said = f"python {target.handler}"
        case _:
            said = f"{type_of(target)} {target.name}".strip()
    return said


def _shown_url(url: str) -> str:
    """Return the URL without user, password, the values of its query, and its fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return redacted(url)
    place = parts.netloc.rpartition("@")[2]
    query = f"?{HIDDEN}" if parts.query else ""
    return redacted(f"{parts.scheme}://{place}{parts.path}{query}")
