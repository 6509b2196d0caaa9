"""Routes of dead letters: list them, count them by cause, and run them again."""

from typing import Final

from onthedot.api.core.cursors import open_cursor, sign_cursor
from onthedot.api.core.list_secrets import list_secret
from onthedot.api.core.reading import read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.dead_letters import show
from onthedot.api.dead_letters.fields import DeadLettersQuery, RedriveFields, filter_text, read_redrive
from onthedot.api.dead_letters.views import CausesView, DeadLettersView, RedrivenView
from onthedot.use_cases.jobs import redrive as use_case
from onthedot.use_cases.runs.count_causes import count_causes
from onthedot.use_cases.runs.failed_runs import dead_letters
from onthedot.use_cases.runs.jobs_of_runs import jobs_of
from onthedot.use_cases.runs.shown_runs import shown_runs


def list_dead_letters(context: RequestContext) -> DeadLettersView | CausesView:
    """Answer a page of the tenant's dead letters, or their causes."""
    query = read_model(DeadLettersQuery, context.request.query)
    wanted = query.wanted()
    if query.by is not None:
        by_job = query.by == "job"
        return show.causes_view(count_causes(context.engine, context.tenant, wanted, query.limit, by_job=by_job))
    secret = list_secret(context, "dead-letters", filter_text(wanted))
    cursor = open_cursor(secret, query.cursor)
    page = dead_letters(context.engine, context.tenant, wanted, query.limit, cursor)
    runs = shown_runs(context.engine, page.items)
    now = context.engine.clock.now()
    return show.dead_letters_view(runs, now, sign_cursor(secret, page.cursor), page.unreadable)


def redrive(context: RequestContext) -> RedrivenView:
    """Run dead letters again: some by id or by filters, or all. A dry run only says which."""
    fields = read_redrive(context.request.body)
    if fields.ids is None:
        return _redrive_matching(context, fields)
    done = use_case.redrive(context.engine, context.tenant, fields.ids, dry_run=fields.dry_run)
    return _shown(context, done, None)


def _redrive_matching(context: RequestContext, fields: RedriveFields) -> RedrivenView:
    wanted = fields.wanted()
    secret = list_secret(context, f"redrive/{fields.dry_run}", filter_text(wanted))
    cursor = open_cursor(secret, fields.cursor)
    done = use_case.redrive_matching(context.engine, context.tenant, wanted, cursor, dry_run=fields.dry_run)
    return _shown(context, done, sign_cursor(secret, done.cursor))


def _shown(context: RequestContext, done: use_case.Redriven, next_cursor: str | None) -> RedrivenView:
    if not done.dry:
        return show.redriven_view(done, next_cursor)
    return show.dry_run_view(done, next_cursor, jobs_of(context.engine, done.runs[: show.MOST_SHOWN]))


ROUTES: Final = (
    Route(
        "GET",
        "/v1/dead-letters",
        list_dead_letters,
        "List executions that failed for good, the latest first, or count them by cause or job",
        DeadLettersView | CausesView,
        query=DeadLettersQuery,
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
