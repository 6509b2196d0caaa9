"""Targets as the API shows them, with secrets masked."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NotRequired, cast

from typing_extensions import TypedDict

from onthedot.api.errors import echo
from onthedot.core.choices import Requirements
from onthedot.core.errors import Problem
from onthedot.targets.types import Target, to_json

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.


class HttpTargetView(TypedDict):
    """An HTTP callback. Secret headers are masked."""

    type: Literal["http"]
    url: str
    method: str
    headers: dict[str, str]


class LambdaTargetView(TypedDict):
    """A Lambda function."""

    type: Literal["lambda"]
    function: str


class AwsTargetView(TypedDict):
    """One call of an AWS API. Values in `input` whose names look secret are masked."""

    type: Literal["aws"]
    service: str
    action: str
    input: NotRequired[dict[str, Any]]


class ShellTargetView(TypedDict):
    """A program and its arguments."""

    type: Literal["shell"]
    argv: list[str]


class GrpcTargetView(TypedDict):
    """A unary gRPC call."""

    type: Literal["grpc"]
    address: str
    method: str
    tls: NotRequired[bool]


class PythonTargetView(TypedDict):
    """A Python handler on workers that have it."""

    type: Literal["python"]
    handler: str


class WorkflowTargetView(TypedDict):
    """The jobs of a workflow that was submitted with `POST /v1/workflows`."""

    type: Literal["workflow"]
    name: str


TargetView = (
    HttpTargetView
    | LambdaTargetView
    | AwsTargetView
    | ShellTargetView
    | GrpcTargetView
    | PythonTargetView
    | WorkflowTargetView
)


class RequirementsView(TypedDict):
    """The requirements of a job to the worker that runs it."""

    capabilities: list[str]
    cpu: float
    memory_mb: int
    storage_mb: int


MASK: Final = "***"
_SECRET_HEADERS: Final = ("auth", "cookie", "token", "secret", "key", "password", "credential", "signature")
_SECRET_INPUTS: Final = (
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "credential",
    "signature",
)


def target_view(target: Target) -> TargetView:
    """Return a target. Secret headers, and values in the input of an AWS call whose names look secret, are masked."""
    shown = to_json(target)
    if "headers" in shown:
        shown["headers"] = _masked(shown["headers"], _is_secret_header)
    if "input" in shown:
        shown["input"] = _masked(shown["input"], _is_secret_input)
    return cast(TargetView, shown)


def requirements_view(requirements: Requirements) -> RequirementsView:
    return {
        "capabilities": list(requirements.capabilities),
        "cpu": requirements.cpu,
        "memory_mb": requirements.memory_mb,
        "storage_mb": requirements.storage_mb,
    }


def mask_problems(document: Mapping[str, Any]) -> list[Problem]:
    """Return a problem for each mask in a document.

    A client that reads a job and sends it back would replace the secrets by their masks.
    """
    target = document.get("target")
    if not isinstance(target, dict):
        return []
    found = [*_masks(target.get("headers"), "target.headers"), *_masks(target.get("input"), "target.input")]
    return [Problem(name, "is the mask of a secret; send the value itself") for name in found]


def _masked(value: Any, is_secret: Callable[[str], bool]) -> Any:
    if isinstance(value, Mapping):
        return {name: MASK if is_secret(name) else _masked(child, is_secret) for name, child in value.items()}
    return [_masked(child, is_secret) for child in value] if isinstance(value, list) else value


def _masks(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, child in value.items():
            yield from _masks(child, f"{path}.{echo(name)}")
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _masks(child, f"{path}.{index}")
    elif value == MASK:
        yield path


def _is_secret_header(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_HEADERS)


def _is_secret_input(name: str) -> bool:
    """Return whether a name in an input looks secret. Unlike headers, many inputs have a harmless `Key`."""
    plain = name.lower().replace("_", "").replace("-", "")
    return any(word in plain for word in _SECRET_INPUTS)
