"""Types of the answers about events."""

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict


class EventView(TypedDict):
    """The executions that the event made, now or when it was sent before."""

    event_id: str
    runs: list[str]
