"""The Python client: typed answers, typed errors, retries that make no second job.

Requests, answers and retries are pure and shared; the sync and the async client differ in how they send. Importing it
loads no pydantic and no boto3.

A call that failed in a way that may pass is tried up to four times, with growing pauses or after the time that the
API asks for. A new job without an idempotency key gets one first. `run`, `redrive`, and `change` with `delay`,
`every` or `if_version` are not repeated when they may have happened.

Lists are iterators that read further pages when they are needed. Unknown fields in answers are ignored, so an older
client works with a newer API. Options that are left out stay as they are; None removes a value.
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
