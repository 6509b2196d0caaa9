"""onthedot: a serverless, distributed job scheduler that fires on the dot."""

from typing import TYPE_CHECKING, Any

from onthedot.handlers import Context, NonRetryable, RetryAfter, job

if TYPE_CHECKING:
    from onthedot import webhooks
    from onthedot.client import (
        AmbiguousName,
        Client,
        ClientError,
        Conflict,
        Forbidden,
        InvalidRequest,
        NotFound,
        PreconditionFailed,
        Problem,
        RateLimited,
        ServerError,
        Status,
        TooLarge,
        Unauthorized,
        Unavailable,
        job_request,
    )
    from onthedot.client.async_client import AsyncClient

__all__ = [
    "AmbiguousName",
    "AsyncClient",
    "Client",
    "ClientError",
    "Conflict",
    "Context",
    "Forbidden",
    "InvalidRequest",
    "NonRetryable",
    "NotFound",
    "PreconditionFailed",
    "Problem",
    "RateLimited",
    "RetryAfter",
    "ServerError",
    "Status",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
    "__version__",
    "job",
    "job_request",
    "webhooks",
]
__version__ = "0.1.0"


if not TYPE_CHECKING:  # type checkers would take every name for one that exists

    def __getattr__(name: str) -> Any:
        """Load the client when one of its names is first used: functions and workers do not need it."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - as above

        if name == "webhooks":
            return import_module("onthedot.webhooks")
        home = "onthedot.client.async_client" if name == "AsyncClient" else "onthedot.client"
        return getattr(import_module(home), name)
