"""The client library: `Client` and `AsyncClient` for the REST API, their answers and their errors.

`requests` makes operations from a caller's arguments, `answers` reads documents, and `trying` decides about retries.
These are pure, so that both clients share them. `transport` has the only input and output.
"""

from typing import TYPE_CHECKING, Any

from onthedot.client.answers import (
    Attempt,
    Change,
    Execution,
    FireTime,
    Job,
    Outcome,
    Status,
    Workflow,
    WorkflowJob,
)
from onthedot.client.client import Client
from onthedot.client.errors import (
    AmbiguousName,
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

if TYPE_CHECKING:
    from onthedot.client.dead_letters import Cause, Causes, NotRedriven, Redriven, RedriveRun
    from onthedot.client.explanations import Explanation, Moment, Reason, WhatIf
    from onthedot.client.operations import Backfilled, Forecast, Health, HeavyJob, Minute, Worker
    from onthedot.client.stage_answers import (
        BulkStep,
        Gate,
        Hour,
        Lateness,
        ListedJob,
        NotDone,
        Outcomes,
        Overview,
        Queue,
        Statistics,
    )

__all__ = [
    "AmbiguousName",
    "Attempt",
    "Backfilled",
    "BulkStep",
    "Cause",
    "Causes",
    "Change",
    "ChangeOptions",
    "Client",
    "ClientError",
    "Conflict",
    "DeadLetterOptions",
    "Execution",
    "Explanation",
    "FireTime",
    "Forbidden",
    "Forecast",
    "Gate",
    "Health",
    "HeavyJob",
    "Hour",
    "HttpTransport",
    "InvalidRequest",
    "Job",
    "JobFilter",
    "JobOptions",
    "Lateness",
    "ListedJob",
    "Minute",
    "Moment",
    "NoAnswer",
    "NotDone",
    "NotFound",
    "NotRedriven",
    "Outcome",
    "Outcomes",
    "Overview",
    "PlaceError",
    "PreconditionFailed",
    "PreviewOptions",
    "Problem",
    "Queue",
    "RateLimited",
    "Reason",
    "RedriveRun",
    "Redriven",
    "Reply",
    "ServerError",
    "Statistics",
    "Status",
    "TooLarge",
    "Transport",
    "Unauthorized",
    "Unavailable",
    "WhatIf",
    "Worker",
    "Workflow",
    "WorkflowJob",
    "WorkflowOptions",
    "job_request",
]


if not TYPE_CHECKING:  # type checkers would take every name for one that exists
    LAZY = ("dead_letters", "explanations", "operations", "stage_answers")
    """Modules that are loaded when they are first used: each answer takes half a millisecond to define."""

    def __getattr__(name: str) -> Any:
        """Load a module of `LAZY` when it, or one of its answers, is first used."""
        from importlib import import_module  # noqa: PLC0415 - as above

        if name in LAZY:
            return import_module(f"{__name__}.{name}")
        if name in __all__:
            for module in LAZY:
                found = getattr(import_module(f"{__name__}.{module}"), name, None)
                if found is not None:
                    return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
