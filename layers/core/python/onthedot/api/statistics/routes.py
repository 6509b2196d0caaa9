"""Routes of statistics and of the overview."""

from typing import Final

from onthedot.api.core.reading import read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.statistics.fields import StatisticsQuery
from onthedot.api.statistics.show import statistics_view
from onthedot.api.statistics.show_overview import overview_view
from onthedot.api.statistics.views import OverviewView, StatisticsView
from onthedot.ports import Principal
from onthedot.use_cases.overview.read_overview import read_overview
from onthedot.use_cases.statistics.read_statistics import read_statistics


def show_statistics(context: RequestContext) -> StatisticsView:
    """Answer the counters of the tenant's ended runs for each step of a range of time."""
    query = read_model(StatisticsQuery, context.request.query)
    asked = query.asked(context.engine.clock.now())
    return statistics_view(read_statistics(context.engine, context.tenant, asked, query.of_priority))


def show_overview(context: RequestContext) -> OverviewView:
    """Answer how the tenant's runs are now. Parts that cannot be read are null."""
    caller = context.request.principal or Principal(context.tenant, "", "")
    return overview_view(context.engine, caller, read_overview(context.engine, context.tenant))


ROUTES: Final = (
    Route(
        "GET",
        "/v1/statistics",
        show_statistics,
        "Count ended runs by outcome and lateness, for each step of a range of time",
        StatisticsView,
        query=StatisticsQuery,
        errors=(422,),
    ),
    Route(
        "GET",
        "/v1/overview",
        show_overview,
        "Get an overview: the last hour, queues, workers, the next fires, failures, and what holds up runs",
        OverviewView,
    ),
)
