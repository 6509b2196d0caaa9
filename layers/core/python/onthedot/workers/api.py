"""Pull workers: register, heartbeat, lease, show and list."""

import json
import random
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, model_validator
from typing_extensions import TypedDict

from onthedot.api.fields import PRIORITY_NAMES, Fields, PriorityName, RunId, Text, WorkerId, printable
from onthedot.api.reading import read_body, read_model
from onthedot.api.route import RequestContext, Route
from onthedot.core.choices import Priority
from onthedot.core.clock import format_instant
from onthedot.core.lifecycle import LEASE_MS
from onthedot.core.ports import Call
from onthedot.core.schema import DEFAULT_POOL
from onthedot.targets import types as targets
from onthedot.targets.fields import Capability, RequirementsView, TargetView, requirements_view
from onthedot.workers import records as workers
from onthedot.workers import registrations
from onthedot.workers.lease import LeasedRun
from onthedot.workers.lease_to_worker import (
    LONGEST_WAIT_SECONDS,
    LeaseRequest,
    lease_to_worker,
    longest_wait_seconds,
)
from onthedot.workers.records import Load, Resources, WorkerRecord, WorkerStatus
from onthedot.workers.registrations import Offer
from onthedot.workers.report import sealed

MAX_CAPABILITIES: Final = 200
MAX_RUNNING: Final = 1_000
MAX_BEAT: Final = 320 * 1024
"""The most bytes of a heartbeat. The ids of two thousand runs fit."""
MAX_LEASES: Final = 10
PULL_POOL: Final = "pull"
MOST_MB: Final = 100_000_000


def _pull_pool(name: str) -> str:
    """Return the pool to join. `default` means the default of the pools that workers may join."""
    return PULL_POOL if name == DEFAULT_POOL else name


def _listed(text: Any) -> Any:
    """Return the entries of a query parameter, which separates them with commas."""
    return [part for part in text.split(",") if part] if isinstance(text, str) else text


Capabilities = Annotated[list[Capability], Field(max_length=MAX_CAPABILITIES)]
Cpu = Annotated[float, Field(ge=0, le=10_000)]
MegaBytes = Annotated[int, Field(ge=0, le=MOST_MB)]
FreeMegaBytes = Annotated[int, Field(ge=-MOST_MB, le=MOST_MB)]
_CONCURRENCY = AliasChoices("concurrency", "slots")


def _one_concurrency(document: Any) -> Any:
    """Return the document without `slots` where it repeats `concurrency`, as the API's own answers do."""
    if isinstance(document, dict) and "slots" in document and document["slots"] == document.get("concurrency"):
        return {name: value for name, value in document.items() if name != "slots"}
    return document


class UsedFields(Fields):
    """The resources that a worker's runs use now."""

    _read_slots = model_validator(mode="before")(_one_concurrency)

    concurrency: Annotated[int, Field(ge=0, le=1_000, validation_alias=_CONCURRENCY)] = 0
    cpu: Cpu = 0
    memory_mb: MegaBytes = 0
    storage_mb: MegaBytes = 0

    def resources(self) -> Resources:
        return Resources(self.concurrency, self.cpu, self.memory_mb, self.storage_mb)


class ResourcesFields(UsedFields):
    """The resources that a worker shares among its runs. `slots` is the former name of `concurrency`."""

    concurrency: Annotated[int, Field(ge=1, le=1_000, validation_alias=_CONCURRENCY)] = 1
    cpu: Cpu = 1
    memory_mb: MegaBytes = 512


class FreeFields(Fields):
    """The resources that a worker has left. Rounding may leave them a little below zero."""

    cpu: Annotated[float, Field(ge=-10_000, le=10_000)] | None = None
    memory_mb: FreeMegaBytes | None = None
    storage_mb: FreeMegaBytes | None = None


class RegisterFields(Fields):
    """A worker that joins a pull pool. Registering a known worker again replaces its former fields."""

    pool: Annotated[Text, AfterValidator(_pull_pool)] = PULL_POOL
    capabilities: Capabilities = Field(default_factory=list)
    resources: ResourcesFields = ResourcesFields()
    worker_id: Annotated[WorkerId | None, Field(description="an id of its own (a new id)")] = None
    host: Annotated[Text, AfterValidator(printable)] = ""


class BeatFields(Fields):
    """A heartbeat of a worker: it is alive, and this is its load."""

    running: Annotated[list[RunId], Field(max_length=MAX_RUNNING)] = Field(default_factory=list)
    used: UsedFields = UsedFields()
    stopping: Annotated[bool, Field(description="the worker finishes its runs and takes no more")] = False
    stopped: bool = False
    ended: Annotated[
        list[RunId], Field(max_length=MAX_RUNNING, description="executions that ended since the last heartbeat")
    ] = Field(default_factory=list)

    def load(self) -> Load:
        return Load(tuple(self.running), self.used.resources(), self.stopping, self.stopped, tuple(self.ended))


class LeaseFields(Fields):
    """A worker's request for runs."""

    max: Annotated[int, Field(ge=1, le=MAX_LEASES)] = 1
    priorities: Annotated[list[PriorityName], Field(min_length=1, max_length=3, description="in the order to look")] = (
        Field(default_factory=lambda: [*PRIORITY_NAMES])
    )
    free: Annotated[FreeFields | None, Field(description="resources left for more runs (all of the worker's)")] = None
    idle: Annotated[bool, Field(description="no other run is on this worker now")] = True
    wait_seconds: Annotated[
        float, Field(ge=0, le=LONGEST_WAIT_SECONDS, description="how long to wait for a first run, where the API waits")
    ] = 0


class WorkersQuery(Fields):
    """The query that chooses workers."""

    status: Literal["ACTIVE", "DRAINING", "LOST", "STOPPED"] | None = None
    capabilities: Annotated[
        list[str],
        BeforeValidator(_listed),
        Field(json_schema_extra={"type": "string", "description": "all of these, separated by commas"}),
    ] = Field(default_factory=list)


# pydantic describes TypedDicts of `typing` only from Python 3.12 on.


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
    `alone` asks the worker to run nothing else alongside it.
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


LEASE_SECONDS: Final = LEASE_MS // 1000
HEARTBEAT_SECONDS: Final = LEASE_SECONDS // 3
"""The interval of heartbeats. A lease outlasts two lost heartbeats in a row."""


def worker_view(worker: WorkerRecord, now: int, longest_wait_seconds: int) -> WorkerView:
    """Return a worker. Of a worker that serves all tenants, neither the runs nor the host are shown."""
    is_shared = worker.tenant is None
    return {
        "worker_id": worker.worker_id,
        "pool": worker.pool,
        "status": worker.status(now).value,
        "capabilities": sorted(worker.capabilities),
        "resources": _resources(worker.resources),
        "used": _resources(worker.load.used),
        "running": [] if is_shared else list(worker.load.running),
        "recent": len(worker.load.recent),
        "registered_at": format_instant(worker.registered_at),
        "heartbeat_at": format_instant(worker.heartbeat_at),
        "host": "" if is_shared else worker.host,
        "lease_seconds": LEASE_SECONDS,
        "heartbeat_seconds": HEARTBEAT_SECONDS,
        "longest_wait_seconds": longest_wait_seconds,
    }


def lease_view(lease: LeasedRun, call: Call) -> LeaseView:
    run, definition = lease.run, call.definition
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "attempt": run.attempt,
        "priority": run.priority.value,
        "pool": run.pool,
        "fire_time": format_instant(run.fire_time),
        "started_at": format_instant(call.started_at),
        "lease_until": format_instant(run.lease_until or 0),
        "lease_seconds": LEASE_SECONDS,
        "alone": lease.alone,
        "target": targets.to_json(definition.target),
        # The worker must send it as compact JSON in UTF-8, because the signature is made from these bytes.
        "payload": json.loads(call.payload),
        "timeout_seconds": definition.timeout_seconds,
        "requirements": requirements_view(definition.requirements),
        "idempotency_key": run.run_id,
        "signature": dict(call.signature),
        "traceparent": call.traceparent,
        "receipt": None if lease.received is None else sealed(run, lease.received.receipt),
    }


def _resources(resources: Resources) -> ResourcesView:
    return {
        "concurrency": resources.concurrency,
        "slots": resources.concurrency,
        "cpu": resources.cpu,
        "memory_mb": resources.memory_mb,
        "storage_mb": resources.storage_mb,
    }


_CHANCE: Final = random.Random()  # noqa: S311 (jitter of retries, not a secret)


def register_worker(context: RequestContext) -> WorkerView:
    fields = read_body(RegisterFields, context.request.body)
    offer = Offer(
        pool=fields.pool,
        capabilities=frozenset(fields.capabilities),
        resources=fields.resources.resources(),
        worker_id=fields.worker_id,
        host=fields.host,
    )
    return _shown(context, registrations.register_worker(context.engine, context.tenant, offer))


def beat_worker(context: RequestContext) -> WorkerView:
    load = read_body(BeatFields, context.request.body, MAX_BEAT).load()
    return _shown(context, registrations.beat_worker(context.engine, context.tenant, context.id, load))


def show_worker(context: RequestContext) -> WorkerView:
    return _shown(context, registrations.see_worker(context.engine, context.tenant, context.id))


def list_workers(context: RequestContext) -> WorkersView:
    query = read_model(WorkersQuery, context.request.query)
    found = registrations.list_workers(
        context.engine,
        context.tenant,
        status=None if query.status is None else WorkerStatus(query.status),
        capabilities=frozenset(query.capabilities),
    )
    return {"workers": [_shown(context, worker) for worker in found]}


def lease(context: RequestContext) -> LeasesView:
    fields = read_body(LeaseFields, context.request.body)
    request = LeaseRequest(
        most=fields.max,
        priorities=[Priority(name) for name in fields.priorities],
        free={} if fields.free is None else fields.free.model_dump(exclude_none=True),
        idle=fields.idle,
        wait_ms=round(fields.wait_seconds * 1000),
        gone=context.request.gone,
    )
    leases = lease_to_worker(context.engine, context.tenant, context.id, request, _CHANCE)
    runs = [lease_view(lease, call) for lease, call in leases.runs]
    return {"runs": runs, "alone_waiting": leases.alone_waiting, "waited_ms": leases.waited_ms}


def _shown(context: RequestContext, worker: workers.WorkerRecord) -> WorkerView:
    return worker_view(worker, context.engine.clock.now(), longest_wait_seconds(context.engine))


ROUTES: Final = (
    Route(
        "POST",
        "/v1/workers/register",
        register_worker,
        "Register a worker of a pull pool",
        WorkerView,
        status=201,
        body=RegisterFields,
        body_may_be_left_out=True,
        for_workers=True,
        errors=(400, 413, 422),
        while_closed=True,
    ),
    Route(
        "GET",
        "/v1/workers",
        list_workers,
        "List the workers that may run your jobs, the latest first",
        WorkersView,
        query=WorkersQuery,
        for_workers=True,
        errors=(422,),
    ),
    Route("GET", "/v1/workers/{id}", show_worker, "Get a worker", WorkerView, for_workers=True, errors=(404,)),
    Route(
        "POST",
        "/v1/workers/{id}/heartbeat",
        beat_worker,
        "Send the heartbeat of a worker, with its load",
        WorkerView,
        body=BeatFields,
        body_may_be_left_out=True,
        for_workers=True,
        errors=(400, 404, 413, 422),
        is_logged=False,
        while_closed=True,
    ),
    Route(
        "POST",
        "/v1/workers/{id}/lease",
        lease,
        "Lease runs, each for as long as its heartbeats come",
        LeasesView,
        body=LeaseFields,
        body_may_be_left_out=True,
        for_workers=True,
        errors=(400, 404, 413, 422),
        is_logged=False,
        while_closed=True,
    ),
)
