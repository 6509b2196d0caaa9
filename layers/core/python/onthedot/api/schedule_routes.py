"""What is to come: of a schedule that is only thought of, and of all that is stored."""

from typing import Final

from onthedot.api import views
from onthedot.api.body import read_object
from onthedot.api.models import ForecastQuery, PreviewFields
from onthedot.api.present_schedules import forecast_view, preview_view
from onthedot.api.previews import read_preview
from onthedot.api.reading import SMALL_BODY, read_model
from onthedot.api.route import Context, Route
from onthedot.use_cases.forecast import forecast


def preview_schedule(context: Context) -> views.PreviewView:
    found = read_preview(read_object(context.request.body, SMALL_BODY), context.engine.clock.now())
    return preview_view(found.fires, found.jitter_seconds)


def show_forecast(context: Context) -> views.ForecastView:
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
