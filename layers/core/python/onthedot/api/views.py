"""Types of the answers that belong to no resource: errors and health."""

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict


class ErrorDetail(TypedDict):
    """One mistake: the field at fault by its dotted name, and how to correct it."""

    field: str
    message: str


class ErrorBody(TypedDict):
    """The error in an answer. `code` is stable and meant for programs, `message` is meant for people."""

    code: str
    message: str
    details: list[ErrorDetail]


class ErrorView(TypedDict):
    """The body of every answer with a status of 400 or more."""

    error: ErrorBody


class HealthView(TypedDict):
    """Whether the scheduler is alive.

    `status` is `ok`, `starting` (there was no tick yet) or `late` (the last completed tick is older than three minutes,
    or the ticks cannot be read). `late` is answered with 503.
    """

    status: str
    version: str
    time: str
    last_tick: str | None
    tick_age_seconds: int | None
