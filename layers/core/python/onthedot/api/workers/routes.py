"""Pull workers over HTTP: they register, say that they live, and lease runs; and those who look at them."""

import random
from typing import Final

from onthedot.api.core.reading import read_fields, read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.workers import show as present_workers
from onthedot.api.workers import views
from onthedot.api.workers.fields import BeatFields, LeaseFields, RegisterFields, WorkersQuery
from onthedot.domain.runs.records import Priority
from onthedot.domain.workers import records as workers
from onthedot.domain.workers.records import WorkerStatus
from onthedot.use_cases.workers import worker_registry
from onthedot.use_cases.workers.lease_to_worker import LeaseRequest, lease_to_worker
from onthedot.use_cases.workers.worker_registry import Offer

_CHANCE: Final = random.Random()  # noqa: S311 (jitter of retries, not a secret)


def register_worker(context: RequestContext) -> views.WorkerView:
    fields = read_fields(RegisterFields, context.request.body)
    offer = Offer(
        pool=fields.pool,
        capabilities=frozenset(fields.capabilities),
        resources=fields.resources.resources(),
        worker_id=fields.worker_id,
        host=fields.host,
    )
    return _shown(context, worker_registry.register_worker(context.engine, context.tenant, offer))


def beat_worker(context: RequestContext) -> views.WorkerView:
    load = read_fields(BeatFields, context.request.body).load()
    return _shown(context, worker_registry.beat_worker(context.engine, context.tenant, context.id, load))


def show_worker(context: RequestContext) -> views.WorkerView:
    return _shown(context, worker_registry.see_worker(context.engine, context.tenant, context.id))


def list_workers(context: RequestContext) -> views.WorkersView:
    query = read_model(WorkersQuery, context.request.query)
    found = worker_registry.list_workers(
        context.engine,
        context.tenant,
        status=None if query.status is None else WorkerStatus(query.status),
        capabilities=frozenset(query.capabilities),
    )
    return {"workers": [_shown(context, worker) for worker in found]}


def lease(context: RequestContext) -> views.LeasesView:
    fields = read_fields(LeaseFields, context.request.body)
    wanted = LeaseRequest(
        most=fields.max,
        priorities=[Priority(name) for name in fields.priorities],
        cpu=None if fields.free is None else fields.free.cpu,
        memory_mb=None if fields.free is None else fields.free.memory_mb,
        idle=fields.idle,
    )
    handed = lease_to_worker(context.engine, context.tenant, context.id, wanted, _CHANCE)
    runs = [present_workers.lease_view(lease, call) for lease, call in handed.runs]
    return {"runs": runs, "alone_waiting": handed.alone_waiting}


def _shown(context: RequestContext, worker: workers.WorkerRecord) -> views.WorkerView:
    return present_workers.worker_view(worker, context.engine.clock.now())


ROUTES: Final = (
    Route(
        "POST",
        "/v1/workers/register",
        register_worker,
        "Be a worker of a pull pool",
        views.WorkerView,
        status=201,
        body=RegisterFields,
        body_may_be_left_out=True,
        for_workers=True,
        errors=(400, 413, 422),
    ),
    Route(
        "GET",
        "/v1/workers",
        list_workers,
        "The workers that your jobs may have, the latest first",
        views.WorkersView,
        query=WorkersQuery,
        for_workers=True,
        errors=(422,),
    ),
    Route("GET", "/v1/workers/{id}", show_worker, "One worker", views.WorkerView, for_workers=True, errors=(404,)),
    Route(
        "POST",
        "/v1/workers/{id}/heartbeat",
        beat_worker,
        "Say that a worker lives, and what it does",
        views.WorkerView,
        body=BeatFields,
        body_may_be_left_out=True,
        for_workers=True,
        errors=(400, 404, 413, 422),
    ),
    Route(
        "POST",
        "/v1/workers/{id}/lease",
        lease,
        "Take runs, each for as long as its heartbeats come",
        views.LeasesView,
        body=LeaseFields,
        body_may_be_left_out=True,
        for_workers=True,
        errors=(400, 404, 413, 422),
    ),
)
