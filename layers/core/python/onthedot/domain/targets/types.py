"""The types of targets: one small value for each. The performers in `onthedot.targets` call them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """An HTTP callback."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LambdaTarget:
    """A Lambda function that is called and waited for. The payload is its event."""

    function: str


@dataclass(frozen=True, slots=True)
class AwsTarget:
    """One API call of an AWS service."""

    service: str
    action: str
    input: Mapping[str, Any] | None = None
    """The input of the call. None: the payload is the input."""


@dataclass(frozen=True, slots=True)
class ShellTarget:
    """A program with its arguments, started without a shell. The payload is its standard input."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GrpcTarget:
    """A unary gRPC call. The payload is the request as protobuf's JSON."""

    address: str
    method: str
    """`package.Service/Method`."""
    tls: bool | None = None
    """Whether to use TLS. None: yes, except for loopback and private addresses."""


@dataclass(frozen=True, slots=True)
class PythonTarget:
    """A handler that the worker's app marks with `@job`. The payload is its argument."""

    handler: str


@dataclass(frozen=True, slots=True)
class WorkflowTarget:
    """The target that makes a graph of jobs from the payload. Users cannot name it: `POST /v1/workflows` makes it."""

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
_NAMES: Final = {kind: name for name, kind in TYPES.items()}


def type_of(target: Target) -> str:
    """Return the name of the target's type."""
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
