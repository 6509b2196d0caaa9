"""What is to come: of a schedule that is only thought of, and of all that is stored."""

from typing import Final

from onthedot.api.core.body import read_object
from onthedot.api.core.reading import SMALL_BODY, read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.jobs import views
from onthedot.api.jobs.fields import ForecastQuery, PreviewFields
from onthedot.api.schedules.previews import read_preview
from onthedot.api.schedules.show import forecast_view, preview_view
from onthedot.use_cases.jobs.forecast import forecast


def preview_schedule(context: RequestContext) -> views.PreviewView:
    found = read_preview(read_object(context.request.body, SMALL_BODY), context.engine.clock.now())
    return preview_view(found.fires, found.jitter_seconds)


def show_forecast(context: RequestContext) -> views.ForecastView:
    query = read_model(ForecastQuery, context.request.query)
    return forecast_view(forecast(context.engine, context.tenant, query.minutes))


ROUTES: Final = (
    Route(
        "POST",
        "/v1/schedules/preview",
        preview_schedule,
        "The coming fire times of a schedule, with what a change of the clocks does to them",
        views.PreviewView,
        body=PreviewFields,
        errors=(400, 413, 422),
    ),
    Route(
        "GET",
        "/v1/forecast",
        show_forecast,
        "How many runs each of the coming minutes already holds: waiting, handed over, or of recurring jobs",
        views.ForecastView,
        query=ForecastQuery,
        errors=(422,),
    ),
)
