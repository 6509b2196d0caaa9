"""The routes of all resources, and the two that belong to none: health and the OpenAPI document."""

from typing import Any, Final

import onthedot
from onthedot.api.core.openapi import describe
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.core.views import HealthView
from onthedot.api.dead_letters import routes as dead_letters
from onthedot.api.events import routes as events
from onthedot.api.executions import routes as executions
from onthedot.api.gates import routes as gates
from onthedot.api.jobs import routes as jobs
from onthedot.api.limits import routes as limits
from onthedot.api.schedules import routes as schedules
from onthedot.api.signing_keys import routes as signing_keys
from onthedot.api.workers import routes as workers
from onthedot.api.workflows import routes as workflows
from onthedot.domain.instants import format_instant


def show_health(context: RequestContext) -> HealthView:
    """Answer that the API works."""
    return {"status": "ok", "version": onthedot.__version__, "time": format_instant(context.engine.clock.now())}


def show_description(_: RequestContext) -> Any:
    """Answer the OpenAPI document."""
    return describe(ROUTES)


ROUTES: Final[tuple[Route, ...]] = (
    *jobs.ROUTES,
    *executions.ROUTES,
    *events.ROUTES,
    *schedules.ROUTES,
    *workflows.ROUTES,
    *workers.ROUTES,
    *gates.ROUTES,
    *limits.ROUTES,
    *dead_letters.ROUTES,
    *signing_keys.ROUTES,
    Route("GET", "/v1/health", show_health, "Check that the API answers", HealthView, is_open=True),
    Route("GET", "/openapi.json", show_description, "Get this description", dict[str, Any], is_open=True),
)
