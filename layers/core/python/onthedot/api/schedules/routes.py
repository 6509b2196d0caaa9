"""Routes of schedules: preview one before it is submitted, and forecast the runs of all that are stored."""

from typing import Final

from onthedot.api.core.body import read_object
from onthedot.api.core.reading import SMALL_BODY, read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.schedules.fields import ForecastQuery, PreviewFields
from onthedot.api.schedules.previews import read_preview
from onthedot.api.schedules.show import forecast_view, preview_view
from onthedot.api.schedules.views import ForecastView, PreviewView
from onthedot.use_cases.forecast.forecast import forecast


def preview_schedule(context: RequestContext) -> PreviewView:
    """Answer the next fire times of a schedule."""
    found = read_preview(read_object(context.request.body, SMALL_BODY), context.engine.clock.now())
    return preview_view(found.fires, found.jitter_seconds, found.example)


def show_forecast(context: RequestContext) -> ForecastView:
    """Answer the number of scheduled runs in each coming minute."""
    query = read_model(ForecastQuery, context.request.query)
    return forecast_view(forecast(context.engine, context.tenant, query.minutes))


ROUTES: Final = (
    Route(
        "POST",
        "/v1/schedules/preview",
        preview_schedule,
        "Preview the next fire times of a schedule, with notes where clocks change",
        PreviewView,
        body=PreviewFields,
        errors=(400, 413, 422),
        for_viewers=True,
        is_logged=False,
        while_closed=True,
    ),
    Route(
        "GET",
        "/v1/forecast",
        show_forecast,
        "Count the runs of each coming minute: waiting, sent to a queue, or expected of recurring jobs",
        ForecastView,
        query=ForecastQuery,
        errors=(422,),
    ),
)
