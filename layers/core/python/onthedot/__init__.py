"""onthedot: a serverless, distributed job scheduler that fires on the dot."""

from onthedot.jobs import NonRetryable, RetryAfter, job

__all__ = ["NonRetryable", "RetryAfter", "__version__", "job"]
__version__ = "0.1.0"
