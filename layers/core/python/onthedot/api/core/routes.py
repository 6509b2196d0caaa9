"""The routes of all resources, and the two that belong to none: health and the OpenAPI document."""

from typing import Any, Final

import onthedot
from onthedot.api.console import routes as console
from onthedot.api.core.http import Response
from onthedot.api.core.openapi import describe
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.core.times import show_time
from onthedot.api.core.views import HealthView
from onthedot.api.dead_letters import routes as dead_letters
from onthedot.api.events import routes as events
from onthedot.api.executions import routes as executions
from onthedot.api.gates import routes as gates
from onthedot.api.limits import routes as limits
from onthedot.api.queues import routes as queues
from onthedot.api.signing_keys import routes as signing_keys
from onthedot.api.statistics import routes as statistics
from onthedot.api.tokens import routes as tokens
from onthedot.api.transfer import routes as transfer
from onthedot.api.workers import routes as workers
from onthedot.domain.errors import Unavailable
from onthedot.domain.instants import format_instant
from onthedot.domain.reports.health import TickReport, TickStatus
from onthedot.jobs import api as jobs
from onthedot.jobs import lists as job_lists
from onthedot.schedules import api as schedules
from onthedot.use_cases.shards.read_ticks import read_ticks
from onthedot.workflows import api as workflows


def show_health(context: RequestContext) -> Response:
    """Answer whether the scheduler is alive: when the last tick was. The answer is 503 when ticks are late."""
    now = context.engine.clock.now()
    try:
        ticks = read_ticks(context.engine, note_start=True)
    except Unavailable:
        # A scheduler whose table cannot be read sends nothing. The log has the cause.
        ticks = TickReport(TickStatus.LATE, None, None)
    view: HealthView = {
        "status": ticks.status.value,
        "version": onthedot.__version__,
        "time": format_instant(now),
        "last_tick": show_time(ticks.last_tick),
        "tick_age_seconds": None if ticks.age_ms is None else ticks.age_ms // 1000,
    }
    return Response(503 if ticks.status is TickStatus.LATE else 200, view)


def show_description(context: RequestContext) -> Any:
    """Answer the OpenAPI document."""
    return describe(ROUTES, context.request.public_url)


ROUTES: Final[tuple[Route, ...]] = (
    *job_lists.ROUTES,
    *jobs.ROUTES,
    *executions.ROUTES,
    *events.ROUTES,
    *schedules.ROUTES,
    *workflows.ROUTES,
    *workers.ROUTES,
    *queues.ROUTES,
    *statistics.ROUTES,
    *gates.ROUTES,
    *limits.ROUTES,
    *tokens.ROUTES,
    *dead_letters.ROUTES,
    *signing_keys.ROUTES,
    *transfer.ROUTES,
    Route(
        "GET",
        "/v1/health",
        show_health,
        "Check that ticks come in time; 503 when they are late",
        HealthView,
        is_open=True,
        ignores_query=True,
        other_statuses=(503,),
    ),
    Route("GET", "/openapi.json", show_description, "Get this description", dict[str, Any], is_open=True),
    *console.ROUTES,
)
