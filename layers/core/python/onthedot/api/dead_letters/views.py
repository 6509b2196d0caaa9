"""Types of the answers about dead letters."""

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing import NotRequired

from typing_extensions import TypedDict

from onthedot.api.executions.views import ExecutionView, UnreadableView


class DeadLettersView(TypedDict):
    """One page of executions that failed for good. Send `next_cursor` as `cursor` to get the next page.

    `unreadable` names the executions of this page that this version cannot read, if there are any.
    """

    dead_letters: list[ExecutionView]
    next_cursor: str | None
    unreadable: NotRequired[list[UnreadableView]]


class RefusedView(TypedDict):
    """An execution that is not run again, and why."""

    id: str
    reason: str


class RedrivenView(TypedDict):
    """The outcome of a redrive. `redriven` is the number of executions that run again.

    `undecided` names executions that may run again: the store did not answer in time. When `left` is true
    there are more: call again.
    """

    redriven: int
    refused: list[RefusedView]
    undecided: list[RefusedView]
    left: bool
