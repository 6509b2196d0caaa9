"""Routes of queues."""

from typing import Final

from onthedot.api.core.route import RequestContext, Route
from onthedot.api.queues import show
from onthedot.api.queues.views import QueuesView
from onthedot.use_cases.workers.read_queues import read_queues


def list_queues(context: RequestContext) -> QueuesView:
    """Answer how many runs wait in each queue, of all tenants."""
    return show.queues_view(read_queues(context.engine))


ROUTES: Final = (
    Route("GET", "/v1/queues", list_queues, "List the queues with the runs that wait in them", QueuesView),
)
