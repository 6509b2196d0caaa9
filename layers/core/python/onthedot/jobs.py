"""What an app imports to say what its workers can do: `@job("send-email")` marks a handler.

    from onthedot import NonRetryable, RetryAfter, job

    @job("send-email")
    def send_email(payload, context):
        ...

`onthedot worker --app my.module` runs the handlers of `my.module`. What a handler returns is the result, as JSON; what
it raises is the error, and the run is tried again unless it is a `NonRetryable`. `async def` handlers are awaited.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from onthedot.domain.errors import OnthedotError

Handler = Callable[..., Any]
"""`handler(payload)` or `handler(payload, context)`."""
_Marked = TypeVar("_Marked", bound=Handler)


class NonRetryable(OnthedotError):
    """Raised by a handler: trying again would not help."""


class RetryAfter(OnthedotError):
    """Raised by a handler: not now, but again after so many seconds."""

    def __init__(self, seconds: float, message: str = "") -> None:
        if not 0 <= seconds < math.inf:
            raise ValueError("the seconds of RetryAfter must be a number that is not negative")
        super().__init__(message or f"asked to be tried again after {seconds:g} s")
        self.seconds = seconds


class BadHandler(OnthedotError):
    """A handler is marked in a way that cannot work."""


@dataclass(frozen=True, slots=True)
class Context:
    """The attempt that a handler serves. `idempotency_key` is the same for every attempt of a run."""

    job_id: str
    run_id: str
    attempt: int
    idempotency_key: str
    fire_time: datetime


_HANDLERS: Final[dict[str, Handler]] = {}


def job(name: str) -> Callable[[_Marked], _Marked]:
    """Mark a function as the handler of this name. It stays the function that it is.

    :raises BadHandler: the name is taken, by the place that is named, or is no name
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
    """All that are marked so far."""
    return dict(_HANDLERS)


def _place(handler: Handler) -> str:
    code = getattr(handler, "__code__", None)
    if code is None:
        return f"{getattr(handler, '__module__', '?')}.{getattr(handler, '__qualname__', repr(handler))}"
    return f"{code.co_filename}:{code.co_firstlineno}"
