"""The client library: `Client` and `AsyncClient` for the REST API, their answers and their errors.

`requests` says each call of the API, `answers` and `options` have its types, and `calling` decides about retries. These
do no input or output, so that both clients share them. `transport` has the HTTP. `make generate` writes `answers` and
`options`, from the API's own description, and `client`, from `async_client`.
"""

from onthedot.client import answers, errors
from onthedot.client.answers import *  # noqa: F403
from onthedot.client.client import Client
from onthedot.client.errors import *  # noqa: F403
from onthedot.client.options import (
    ChangeOptions,
    DeadLetterOptions,
    JobFilter,
    JobOptions,
    PreviewOptions,
    WorkflowOptions,
)
from onthedot.client.requests import job_request
from onthedot.client.transport import HttpTransport, NoAnswer, Reply, Transport
from onthedot.client.values import Status

__all__ = [
    "ChangeOptions",
    "Client",
    "DeadLetterOptions",
    "HttpTransport",
    "JobFilter",
    "JobOptions",
    "NoAnswer",
    "PreviewOptions",
    "Reply",
    "Status",
    "Transport",
    "WorkflowOptions",
    "job_request",
]
__all__ += answers.__all__
__all__ += errors.__all__
