"""What the API shows to pull workers and of them, as types."""

from typing import Any

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.targets.views import RequirementsView, TargetView


class ResourcesView(TypedDict):
    """A worker's resources. `slots` repeats `concurrency` for clients that know only the former name."""

    concurrency: int
    slots: int
    cpu: float
    memory_mb: int


class WorkerView(TypedDict):
    """`running` and `host` are empty of a worker that serves all tenants."""

    worker_id: str
    pool: str
    status: str
    capabilities: list[str]
    resources: ResourcesView
    used: ResourcesView
    running: list[str]
    registered_at: str
    heartbeat_at: str
    host: str
    lease_seconds: int
    heartbeat_seconds: int


class WorkersView(TypedDict):
    workers: list[WorkerView]


class LeaseView(TypedDict):
    """A run that the worker has until `lease_until`, with all that it needs; its target's secrets are in it."""

    execution_id: str
    job_id: str
    attempt: int
    priority: str
    pool: str
    fire_time: str
    lease_until: str
    lease_seconds: int
    alone: bool
    target: TargetView
    payload: Any
    timeout_seconds: int
    requirements: RequirementsView
    idempotency_key: str
    signature: dict[str, str]
    receipt: str | None


class LeasesView(TypedDict):
    """`alone_waiting`: take nothing more until the worker is idle, then lease again."""

    runs: list[LeaseView]
    alone_waiting: bool


class KeptView(TypedDict):
    execution_id: str
    attempt: int
    lease_until: str
    cancel_requested: bool


class SigningKeyView(TypedDict):
    secret: str
    created_at: str
    retires_at: str | None


class SigningKeysView(TypedDict):
    """The newest first; all of them sign until they retire."""

    keys: list[SigningKeyView]
