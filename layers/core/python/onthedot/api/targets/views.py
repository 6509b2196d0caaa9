"""Types of the answers about a job's target and its requirements."""

from typing import Any, Literal, NotRequired

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict


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
