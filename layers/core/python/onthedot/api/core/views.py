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
    """The answer of a working API: its version and the time of its clock."""

    status: str
    version: str
    time: str
