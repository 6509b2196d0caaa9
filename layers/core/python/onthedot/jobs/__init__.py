"""Jobs as clients see them: submit, change, list, explain, dead letters, executions.

Apps may import the names of `onthedot.handlers` from here too.
"""

from onthedot.handlers import Context, NonRetryable, RetryAfter, job

__all__ = ["Context", "NonRetryable", "RetryAfter", "job"]
