"""Types of the answers about queues."""

from typing import NotRequired

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict


class QueueView(TypedDict):
    """A queue of a pool: the runs of all tenants that were sent to it.

    `waiting` runs are due and no worker has them, `delayed` ones are due soon, `in_flight` ones are with a worker.
    `dead_letters` are messages that could not be delivered; the scheduler sends their runs again. `priority` is null
    where all priorities share the queue. `kind` is `push` where queues start workers, and `pull` where workers ask for
    runs. `error` says why the numbers are not known.
    """

    pool: str
    kind: str
    priority: str | None
    waiting: int | None
    delayed: int | None
    in_flight: int | None
    oldest_age_seconds: int | None
    dead_letters: int | None
    error: NotRequired[str]


class QueuesView(TypedDict):
    """All queues of the stage."""

    queues: list[QueueView]
