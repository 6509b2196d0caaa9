"""Routes of pull workers: register, heartbeat, lease, show and list."""

import random
from typing import Final

from onthedot.api.core.reading import read_body, read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.workers import show, views
from onthedot.api.workers.fields import MAX_BEAT, BeatFields, LeaseFields, RegisterFields, WorkersQuery
from onthedot.domain.runs.records import Priority
from onthedot.domain.workers import records as workers
from onthedot.domain.workers.records import WorkerStatus
from onthedot.use_cases.workers import worker_registry
from onthedot.use_cases.workers.lease_to_worker import LeaseRequest, lease_to_worker
from onthedot.use_cases.workers.wait_for_runs import longest_wait_seconds
from onthedot.use_cases.workers.worker_registry import Offer

_CHANCE: Final = random.Random()  # noqa: S311 (jitter of retries, not a secret)


def register_worker(context: RequestContext) -> views.WorkerView:
    fields = read_body(RegisterFields, context.request.body)
    offer = Offer(
        pool=fields.pool,
        capabilities=frozenset(fields.capabilities),
        resources=fields.resources.resources(),
        worker_id=fields.worker_id,
        host=fields.host,
    )
    return _shown(context, worker_registry.register_worker(context.engine, context.tenant, offer))


def beat_worker(context: RequestContext) -> views.WorkerView:
    """Record the heartbeat and the load of a worker."""
    load = read_body(BeatFields, context.request.body, MAX_BEAT).load()
    return _shown(context, worker_registry.beat_worker(context.engine, context.tenant, context.id, load))


def show_worker(context: RequestContext) -> views.WorkerView:
    """Answer one worker."""
    return _shown(context, worker_registry.see_worker(context.engine, context.tenant, context.id))


def list_workers(context: RequestContext) -> views.WorkersView:
    """Answer the workers that may run the tenant's jobs."""
    query = read_model(WorkersQuery, context.request.query)
    found = worker_registry.list_workers(
        context.engine,
        context.tenant,
        status=None if query.status is None else WorkerStatus(query.status),
        capabilities=frozenset(query.capabilities),
    )
    return {"workers": [_shown(context, worker) for worker in found]}


def lease(context: RequestContext) -> views.LeasesView:
    fields = read_body(LeaseFields, context.request.body)
    request = LeaseRequest(
        most=fields.max,
        priorities=[Priority(name) for name in fields.priorities],
        cpu=None if fields.free is None else fields.free.cpu,
        memory_mb=None if fields.free is None else fields.free.memory_mb,
        storage_mb=None if fields.free is None else fields.free.storage_mb,
        idle=fields.idle,
        wait_ms=round(fields.wait_seconds * 1000),
        gone=context.request.gone,
    )
    leases = lease_to_worker(context.engine, context.tenant, context.id, request, _CHANCE)
    runs = [show.lease_view(lease, call) for lease, call in leases.runs]
    return {"runs": runs, "alone_waiting": leases.alone_waiting, "waited_ms": leases.waited_ms}


def _shown(context: RequestContext, worker: workers.WorkerRecord) -> views.WorkerView:
    return show.worker_view(worker, context.engine.clock.now(), longest_wait_seconds(context.engine))


ROUTES: Final = (
    Route(
        "POST",
        "/v1/workers/register",
        register_worker,
        "Register a worker of a pull pool",
        views.WorkerView,
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
        views.WorkersView,
        query=WorkersQuery,
        for_workers=True,
        errors=(422,),
    ),
    Route("GET", "/v1/workers/{id}", show_worker, "Get a worker", views.WorkerView, for_workers=True, errors=(404,)),
    Route(
        "POST",
        "/v1/workers/{id}/heartbeat",
        beat_worker,
        "Send the heartbeat of a worker, with its load",
        views.WorkerView,
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
        views.LeasesView,
        body=LeaseFields,
        body_may_be_left_out=True,
        for_workers=True,
        errors=(400, 404, 413, 422),
        is_logged=False,
        while_closed=True,
    ),
)
