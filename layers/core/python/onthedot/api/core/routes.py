"""The route table. Each function parses, calls one use case, and shows what came of it."""

from typing import Any, Final

import onthedot
from onthedot.api.core.openapi import describe
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.dead_letters import routes as dead_letter_routes
from onthedot.api.events import routes as event_routes
from onthedot.api.executions import report_routes
from onthedot.api.executions import routes as run_routes
from onthedot.api.jobs import routes as job_routes
from onthedot.api.jobs import submit_routes, views
from onthedot.api.schedules import routes as schedule_routes
from onthedot.api.signing_keys import routes as signing_routes
from onthedot.api.workers import routes as worker_routes
from onthedot.api.workflows import routes as workflow_routes
from onthedot.domain.instants import format_instant


def show_health(context: RequestContext) -> views.HealthView:
    return {"status": "ok", "version": onthedot.__version__, "time": format_instant(context.engine.clock.now())}


def show_description(_: RequestContext) -> Any:
    return describe(ROUTES)


ROUTES: Final[tuple[Route, ...]] = (
    *submit_routes.ROUTES,
    *job_routes.ROUTES,
    *run_routes.ROUTES,
    *event_routes.ROUTES,
    *schedule_routes.ROUTES,
    *workflow_routes.ROUTES,
    *worker_routes.ROUTES,
    *report_routes.ROUTES,
    *dead_letter_routes.ROUTES,
    *signing_routes.ROUTES,
    Route("GET", "/v1/health", show_health, "Whether the API answers", views.HealthView, is_open=True),
    Route("GET", "/openapi.json", show_description, "This description", dict[str, Any], is_open=True),
)
