"""What a run can do: one small value for each kind of target. How each is performed is the adapters' business."""

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
    """A function, called and waited for; the payload is its event."""

    function: str


@dataclass(frozen=True, slots=True)
class AwsTarget:
    """One API call of an AWS service. Without `input` the payload is the input."""

    service: str
    action: str
    input: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ShellTarget:
    """A program with its arguments, without a shell in between; the payload is its standard input."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GrpcTarget:
    """A unary call, `package.Service/Method`; the payload is the request as protobuf's JSON."""

    address: str
    method: str
    tls: bool | None = None
    """None: with TLS, but for loopback and private addresses."""


@dataclass(frozen=True, slots=True)
class PythonTarget:
    """A handler that the worker's app marks with `@job`; the payload is its argument."""

    handler: str


@dataclass(frozen=True, slots=True)
class WorkflowTarget:
    """Makes a graph of jobs out of the payload. Not for users to name: it comes with `POST /v1/workflows`."""

    name: str = ""


Target = WorkflowTarget | HttpTarget | LambdaTarget | AwsTarget | ShellTarget | GrpcTarget | PythonTarget

TYPES: Final[Mapping[str, type[Target]]] = {
    "http": HttpTarget,
    "lambda": LambdaTarget,
    "aws": AwsTarget,
    "shell": ShellTarget,
    "grpc": GrpcTarget,
    "python": PythonTarget,
    "workflow": WorkflowTarget,
}
"""By the name that users give it, which is also the capability that a worker needs for it."""
_NAMES: Final = {kind: name for name, kind in TYPES.items()}


def type_of(target: Target) -> str:
    return _NAMES[type(target)]


def to_json(target: Target) -> dict[str, Any]:
    """As it is stored and handed to workers; `from_json` reads it back."""
    fields = {name: getattr(target, name) for name in target.__slots__}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
    return {"type": type_of(target), **{name: value for name, value in plain.items() if value is not None}}


def from_json(stored: Mapping[str, Any]) -> Target:
    """Raises KeyError or TypeError for what is no target."""
    fields: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in stored.items()}
    return TYPES[fields.pop("type")](**fields)
