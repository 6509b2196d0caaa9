"""Types of the answers about gates."""

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict


class LimitsView(TypedDict):
    """Limits. A limit that is null does not limit. `changed_by` is the name of the token that set them."""

    in_flight: int | None
    per_second: float | None
    burst: int | None
    paused: bool
    changed_at: str | None
    changed_by: str | None


class UseView(TypedDict):
    """The use of limits. All are null when they cannot be read now.

    `in_use` is the number of attempts that have a place. `waiting` is the number of runs that wait, counted up to
    1,000. Then `waiting_is_more` says whether there are more.
    """

    in_use: int | None
    waiting: int | None
    waiting_is_more: bool | None
    oldest_waiting_seconds: float | None


class GateView(LimitsView, UseView):
    """A gate with its limits and its use. The use of a gate does not contain that of its keys."""

    name: str


class GatesView(TypedDict):
    """One page of a tenant's gates, by name. Send `next_cursor` as `cursor` to get the next page."""

    gates: list[GateView]
    next_cursor: str | None


class HolderView(TypedDict):
    """An attempt that has a place. `worker_id` is null before its start. `name` is of its job."""

    execution_id: str
    job_id: str | None
    name: str | None
    since: str
    worker_id: str | None


class WaitingRunView(TypedDict):
    """A run that waits at a gate. `name` is of its job."""

    execution_id: str
    job_id: str | None
    name: str | None
    fire_time: str


class GateDetailsView(GateView):
    """A gate or one key of it.

    `holders` are the 100 attempts that have had their places longest. `first_waiting` are the 20 runs that wait
    longest, not counting runs that wait at its keys. `waiting_keys` is the number of keys at which runs may wait,
    counted up to 1,000, and `first_waiting_keys` has the first 100 of them.
    """

    holders: list[HolderView]
    first_waiting: list[WaitingRunView]
    waiting_keys: int
    waiting_keys_is_more: bool
    first_waiting_keys: list[str]
