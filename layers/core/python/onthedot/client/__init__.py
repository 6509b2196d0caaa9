"""The client library: `Client` and `AsyncClient` for the REST API, their answers and their errors.

`requests` makes operations from a caller's arguments, `answers` reads documents, and `trying` decides about retries.
These are pure, so that both clients share them. `transport` has the only input and output.
"""

from onthedot.client.answers import (
    Attempt,
    Execution,
    Explanation,
    FireTime,
    Job,
    Reason,
    Status,
    Workflow,
    WorkflowJob,
)
from onthedot.client.client import Client
from onthedot.client.errors import (
    ClientError,
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    PlaceError,
    PreconditionFailed,
    Problem,
    RateLimited,
    ServerError,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from onthedot.client.options import JobOptions, PreviewOptions, WorkflowOptions
from onthedot.client.requests import job_request
from onthedot.client.transport import HttpTransport, NoAnswer, Reply, Transport

__all__ = [
    "Attempt",
    "Client",
    "ClientError",
    "Conflict",
    "Execution",
    "Explanation",
    "FireTime",
    "Forbidden",
    "HttpTransport",
    "InvalidRequest",
    "Job",
    "JobOptions",
    "NoAnswer",
    "NotFound",
    "PlaceError",
    "PreconditionFailed",
    "PreviewOptions",
    "Problem",
    "RateLimited",
    "Reason",
    "Reply",
    "ServerError",
    "Status",
    "TooLarge",
    "Transport",
    "Unauthorized",
    "Unavailable",
    "Workflow",
    "WorkflowJob",
    "WorkflowOptions",
    "job_request",
]
