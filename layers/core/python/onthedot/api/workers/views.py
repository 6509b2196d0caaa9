"""Types of the answers to pull workers and about them."""

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
    storage_mb: int


class WorkerView(TypedDict):
    """A worker. `running` and `host` are empty when it serves all tenants.

    It must send a heartbeat every `heartbeat_seconds`. Its leases last for `lease_seconds`. A lease may ask the API to
    wait for up to `longest_wait_seconds`. 0: the API answers at once. `recent` is the number of its latest ended
    executions that are known, up to 100: `GET /v1/executions?worker_id=` lists them.
    """

    worker_id: str
    pool: str
    status: str
    capabilities: list[str]
    resources: ResourcesView
    used: ResourcesView
    running: list[str]
    recent: int
    registered_at: str
    heartbeat_at: str
    host: str
    lease_seconds: int
    heartbeat_seconds: int
    longest_wait_seconds: int


class WorkersView(TypedDict):
    """The workers, the latest first."""

    workers: list[WorkerView]


class LeaseView(TypedDict):
    """A run that is leased to the worker until `lease_until`.

    It has all values that the worker needs, and the target's secrets. The worker sends `receipt` back with each report.
    `alone` asks the worker to run nothing else beside it.
    """

    execution_id: str
    job_id: str
    attempt: int
    priority: str
    pool: str
    fire_time: str
    started_at: str
    lease_until: str
    lease_seconds: int
    alone: bool
    target: TargetView
    payload: Any
    timeout_seconds: int
    requirements: RequirementsView
    idempotency_key: str
    signature: dict[str, str]
    traceparent: str
    receipt: str | None


class LeasesView(TypedDict):
    """The leased runs. When `alone_waiting` is true, the worker leases again only when it is idle.

    The leases count from `waited_ms` after the API got the call.
    """

    runs: list[LeaseView]
    alone_waiting: bool
    waited_ms: int
