"""Routes of dead letters: list them and run them again."""

from typing import Final

from onthedot.api.core.cursors import open_cursor, sign_cursor
from onthedot.api.core.fields import PageQuery
from onthedot.api.core.reading import read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.dead_letters import show
from onthedot.api.dead_letters.fields import RedriveFields, read_redrive
from onthedot.api.dead_letters.views import DeadLettersView, RedrivenView
from onthedot.use_cases.access.signing_keys import keys_of
from onthedot.use_cases.attempts.results import short_result
from onthedot.use_cases.jobs import redrive as use_case


def list_dead_letters(context: RequestContext) -> DeadLettersView:
    """Answer a page of the tenant's dead letters."""
    query = read_model(PageQuery, context.request.query)
    secret = _cursor_secret(context)
    page = use_case.dead_letters(context.engine, context.tenant, query.limit, open_cursor(secret, query.cursor))
    runs = [(run, short_result(context.engine.blobs, run)) for run in page.items]
    return show.dead_letters_view(runs, sign_cursor(secret, page.cursor), page.unreadable)


def redrive(context: RequestContext) -> RedrivenView:
    """Run dead letters again: some by id, or all."""
    fields = read_redrive(context.request.body)
    if fields.ids is None:
        done = use_case.redrive_all(context.engine, context.tenant)
    else:
        done = use_case.redrive(context.engine, context.tenant, fields.ids)
    return show.redriven_view(done)


def _cursor_secret(context: RequestContext) -> str:
    """Return the tenant's signing key, which viewers are not shown.

    Cursors become invalid when the tenant rotates it.
    """
    return keys_of(context.engine, context.tenant)[0].secret


ROUTES: Final = (
    Route(
        "GET",
        "/v1/dead-letters",
        list_dead_letters,
        "List executions that failed for good, the latest first",
        DeadLettersView,
        query=PageQuery,
        errors=(422,),
    ),
    Route(
        "POST",
        "/v1/dead-letters/redrive",
        redrive,
        "Run dead letters again, ten a second",
        RedrivenView,
        status=202,
        body=RedriveFields,
        errors=(400, 413, 422),
    ),
)
