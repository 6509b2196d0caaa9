"""The decorator and the errors for the handlers of an app: `@job("send-email")` marks a function as a handler.

    from onthedot import NonRetryable, RetryAfter, job

    @job("send-email")
    def send_email(payload, context):
        ...

`onthedot worker --app my.module` runs the handlers of `my.module`. The return value of a handler becomes the result, as
JSON. An exception becomes the error, and the run is tried again unless it is a `NonRetryable`. `async def` handlers are
awaited.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from onthedot.core.errors import OnthedotError
from onthedot.core.progress import ProgressReport, report_of

Handler = Callable[..., Any]
"""A function that is called as `handler(payload)` or `handler(payload, context)`."""
_Marked = TypeVar("_Marked", bound=Handler)


class NonRetryable(OnthedotError):
    """An error that a handler raises when trying again would not help."""


class RetryAfter(OnthedotError):
    """An error that a handler raises to be tried again after this many seconds, and not earlier."""

    def __init__(self, seconds: float, message: str = "") -> None:
        if not 0 <= seconds < math.inf:
            raise ValueError("the seconds of RetryAfter must be a number that is not negative")
        super().__init__(message or f"asked to be tried again after {seconds:g} s")
        self.seconds = seconds


class BadHandler(OnthedotError):
    """A handler is marked in a way that cannot work: without a name, or with the name of another handler."""


class AttemptLink:
    """The connection of a handler with its worker. This one leads nowhere: it is for handlers that a test calls."""

    @property
    def stop_requested(self) -> bool:
        """Whether the attempt was asked to stop."""
        return False

    def report(self, report: ProgressReport) -> None:
        """Take the latest report of the handler. It must not block."""


@dataclass(frozen=True, slots=True)
class Context:
    """The attempt that a handler runs for."""

    job_id: str
    run_id: str
    attempt: int
    """1 for the first attempt of a run."""
    idempotency_key: str
    """The same value for every attempt of a run."""
    fire_time: datetime
    """The time that the job asked for. A retry does not change it."""
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When this attempt started."""
    timeout_seconds: float = 60.0
    """The job's timeout for one attempt."""
    link: AttemptLink = field(default_factory=AttemptLink, repr=False, compare=False)
    """The connection with the worker. Handlers use `progress` and `cancelled` instead."""

    @property
    def lateness(self) -> timedelta:
        """How long after its fire time this attempt started. Of a retry, that includes the attempts before."""
        return self.started_at - self.fire_time

    @property
    def deadline(self) -> datetime:
        """When the attempt reaches its timeout. The handler's process is killed then."""
        return self.started_at + timedelta(seconds=self.timeout_seconds)

    @property
    def cancelled(self) -> bool:
        """Whether the attempt was asked to stop: its job was cancelled, or its worker ends.

        Return soon then. Two seconds after the request the process is killed.
        """
        return self.link.stop_requested

    def progress(self, fraction: float | None = None, text: str | None = None) -> None:
        """Report how much is done, from 0 to 1, and a short text of up to 200 characters.

        The next heartbeat brings the latest report to the scheduler, so calls are cheap however many there are. Raise
        TypeError when a value has another type.
        """
        self.link.report(report_of(fraction, text))


_HANDLERS: Final[dict[str, Handler]] = {}


def job(name: str) -> Callable[[_Marked], _Marked]:
    """Mark a function as the handler of this name. The function itself is not changed.

    Raise BadHandler when the name is empty or no text, or when another handler has it. The message names both places.
    """
    if not isinstance(name, str) or not name:
        raise BadHandler('a handler needs a name: @job("send-email")')

    def mark(handler: _Marked) -> _Marked:
        if name in _HANDLERS:
            places = f"{_place(_HANDLERS[name])} and {_place(handler)}"
            raise BadHandler(f"two handlers are marked @job({name!r}): {places}")
        _HANDLERS[name] = handler
        return handler

    return mark


def handlers() -> Mapping[str, Handler]:
    return dict(_HANDLERS)


def _place(handler: Handler) -> str:
    code = getattr(handler, "__code__", None)
    if code is None:
        return f"{getattr(handler, '__module__', '?')}.{getattr(handler, '__qualname__', repr(handler))}"
    return f"{code.co_filename}:{code.co_firstlineno}"
