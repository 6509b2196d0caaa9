"""The route table. Each function parses, calls one use case, and shows what came of it."""

from typing import Any, Final

import onthedot
from onthedot.api import (
    dead_letter_routes,
    event_routes,
    job_routes,
    report_routes,
    run_routes,
    schedule_routes,
    signing_routes,
    submit_routes,
    views,
    worker_routes,
    workflow_routes,
)
from onthedot.api.openapi import describe
from onthedot.api.route import Context, Route
from onthedot.api.times import format_instant


def show_health(context: Context) -> views.HealthView:
    return {"status": "ok", "version": onthedot.__version__, "time": format_instant(context.engine.clock.now())}


def show_description(_: Context) -> Any:
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
