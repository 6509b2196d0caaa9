"""Jobs: what they are, and the calls that submit, show, change, stop and run them. Handlers of apps are marked here."""

from onthedot.jobs.handlers import (
    AttemptLink,
    BadHandler,
    Context,
    Handler,
    NonRetryable,
    RetryAfter,
    handlers,
    job,
)

__all__ = ["AttemptLink", "BadHandler", "Context", "Handler", "NonRetryable", "RetryAfter", "handlers", "job"]
