"""Routes of API tokens, for admins: make, list and revoke those of all tenants."""

from typing import Final

from onthedot.api.core.cursors import open_cursor, sign_cursor
from onthedot.api.core.reading import read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.tokens import show
from onthedot.api.tokens.fields import TokenFields, TokensQuery, read_token
from onthedot.api.tokens.views import NewTokenView, RevokedView, TokensView
from onthedot.use_cases.access import tokens

_PAGES: Final = "tokens"
"""A cursor is the id of a token. An admin may read all of them, so it needs no secret."""


def list_tokens(context: RequestContext) -> TokensView:
    """Answer a page of the tokens, without their texts."""
    query = read_model(TokensQuery, context.request.query)
    page = context.engine.tokens.page(query.limit, open_cursor(_PAGES, query.cursor), query.tenant)
    return show.tokens_view(page.items, sign_cursor(_PAGES, page.cursor))


def create_token(context: RequestContext) -> NewTokenView:
    """Make a token. Only this answer shows its text."""
    fields = read_token(context.request.body)
    made = tokens.create_token(context.engine.tokens, context.engine.clock, fields.principal, fields.expires_at)
    return show.new_token_view(*made)


def revoke_token(context: RequestContext) -> RevokedView:
    """Delete a token."""
    tokens.revoke_token(context.engine.tokens, context.id)
    return {"deleted": True}


ROUTES: Final = (
    Route(
        "GET",
        "/v1/tokens",
        list_tokens,
        "List the API tokens of all tenants, without their texts",
        TokensView,
        query=TokensQuery,
        for_admins=True,
        errors=(422,),
    ),
    Route(
        "POST",
        "/v1/tokens",
        create_token,
        "Make an API token; only this answer shows it",
        NewTokenView,
        status=201,
        body=TokenFields,
        for_admins=True,
        errors=(400, 413, 422),
    ),
    Route(
        "DELETE",
        "/v1/tokens/{id}",
        revoke_token,
        "Revoke an API token; it is refused within a minute",
        RevokedView,
        for_admins=True,
        errors=(404,),
    ),
)
