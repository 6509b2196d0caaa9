"""What the API shows of a job's target and of what it asks of its worker, as types."""

from typing import Any, Literal, NotRequired

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict


class HttpTargetView(TypedDict):
    type: Literal["http"]
    url: str
    method: str
    headers: dict[str, str]


class LambdaTargetView(TypedDict):
    type: Literal["lambda"]
    function: str


class AwsTargetView(TypedDict):
    type: Literal["aws"]
    service: str
    action: str
    input: NotRequired[dict[str, Any]]


class ShellTargetView(TypedDict):
    type: Literal["shell"]
    argv: list[str]


class GrpcTargetView(TypedDict):
    type: Literal["grpc"]
    address: str
    method: str
    tls: NotRequired[bool]


class PythonTargetView(TypedDict):
    type: Literal["python"]
    handler: str


class WorkflowTargetView(TypedDict):
    """Of a job that came with `POST /v1/workflows`."""

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
    capabilities: list[str]
    cpu: float
    memory_mb: int
