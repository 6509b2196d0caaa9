"""The routes of all resources, and the two that belong to none: health and the OpenAPI document."""

from typing import Any, Final

from typing_extensions import TypedDict

import onthedot
from onthedot.access import signing_keys_api as signing_keys
from onthedot.access import tokens_api as tokens
from onthedot.api import console
from onthedot.api.http import Response
from onthedot.api.openapi import describe
from onthedot.api.route import RequestContext, Route
from onthedot.api.times import show_time
from onthedot.core.clock import format_instant
from onthedot.core.errors import Unavailable
from onthedot.events import api as events
from onthedot.gates import api as gates
from onthedot.jobs import api as jobs
from onthedot.jobs import dead_letters_api as dead_letters
from onthedot.jobs import executions_api as executions
from onthedot.jobs import lists as job_lists
from onthedot.schedules import api as schedules
from onthedot.statistics import api as statistics
from onthedot.statistics.health import TickReport, TickStatus, read_ticks
from onthedot.transfer import api as transfer
from onthedot.workers import api as workers
from onthedot.workers import queues
from onthedot.workflows import api as workflows


class HealthView(TypedDict):
    """Whether the scheduler is alive.

    `status` is `ok`, `starting` (there was no tick yet) or `late` (the last completed tick is older than three minutes,
    or the ticks cannot be read). `late` is answered with 503.
    """

    status: str
    version: str
    time: str
    last_tick: str | None
    tick_age_seconds: int | None


def show_health(context: RequestContext) -> Response:
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


def show_description(context: RequestContext) -> Response:
    return Response(200, describe(ROUTES, context.request.public_url), {"Vary": "Accept-Encoding"})


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
    *gates.LIMITS_ROUTES,
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
