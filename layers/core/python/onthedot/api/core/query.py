"""Check the names of a query's parameters before a route reads their values."""

from onthedot.api.core.errors import echo
from onthedot.api.core.http import Request
from onthedot.api.core.reading import refuse_unknown_fields
from onthedot.api.core.route import Route
from onthedot.domain.errors import InvalidRequest, Problem


def check_query(route: Route, request: Request) -> None:
    """Raise InvalidRequest for a parameter that is given twice, and for each one on a route that takes none.

    A route that takes some reads them as a model, which refuses unknown ones.
    """
    if route.is_page or route.ignores_query:
        return
    if route.query is None:
        refuse_unknown_fields(request.query, [])
    if request.repeated_query:
        raise InvalidRequest(
            *(Problem(echo(name), "is given twice; keep one of them") for name in request.repeated_query)
        )
