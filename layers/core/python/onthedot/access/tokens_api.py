"""API tokens, for admins: make, list and revoke those of all tenants."""

from typing import Annotated, Final, Literal

from pydantic import Field
from typing_extensions import TypedDict

from onthedot.access import tokens
from onthedot.access.ports import Principal, Token
from onthedot.access.tokens import LONGEST_NAME
from onthedot.api.fields import CalendarInstant, Fields, PageQuery
from onthedot.api.lists import open_cursor, sign_cursor
from onthedot.api.reading import SMALL_BODY, read_model, read_object, read_without_nulls
from onthedot.api.route import RequestContext, Route
from onthedot.api.times import show_time
from onthedot.core.clock import format_instant

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class TokenFields(Fields):
    """A new token."""

    tenant: Annotated[Name, Field(description="the tenant that it belongs to")]
    role: Literal["admin", "operator", "viewer", "worker"]
    name: Annotated[Name, Field(description="its owner or its purpose")]
    expires_at: Annotated[
        CalendarInstant | None, Field(description="when it stops being valid (when it is revoked)")
    ] = None


class TokensQuery(PageQuery):
    """The query of the list of tokens."""

    tenant: Annotated[Name | None, Field(description="only the tokens of this tenant")] = None


# pydantic describes TypedDicts of `typing` only from Python 3.12 on.


class TokenView(TypedDict):
    """A token without its text."""

    id: str
    tenant: str
    role: str
    name: str
    created_at: str
    expires_at: str | None


class NewTokenView(TokenView):
    """A new token. Only this answer has its text."""

    token: str


class TokensView(TypedDict):
    """One page of tokens. Send `next_cursor` as `cursor` to get the next page, also after a page without tokens."""

    tokens: list[TokenView]
    next_cursor: str | None


class RevokedView(TypedDict):
    """The answer to a delete: the token is gone. API Gateway may accept it for another 50 seconds."""

    deleted: bool


def token_view(token: Token) -> TokenView:
    who = token.principal
    return {
        "id": token.id,
        "tenant": who.tenant,
        "role": who.role,
        "name": who.name,
        "created_at": format_instant(token.created_at),
        "expires_at": show_time(token.expires_at),
    }


_PAGES: Final = "tokens"
"""A cursor is the id of a token. An admin may read all of them, so it needs no secret."""


def list_tokens(context: RequestContext) -> TokensView:
    query = read_model(TokensQuery, context.request.query)
    page = context.engine.tokens.page(query.limit, open_cursor(_PAGES, query.cursor), query.tenant)
    return {"tokens": [token_view(token) for token in page.items], "next_cursor": sign_cursor(_PAGES, page.cursor)}


def create_token(context: RequestContext) -> NewTokenView:
    fields = read_without_nulls(TokenFields, read_object(context.request.body, SMALL_BODY))
    principal = Principal(fields.tenant, fields.role, fields.name)
    text, token = tokens.create_token(context.engine.tokens, context.engine.clock, principal, fields.expires_at)
    return {"token": text, **token_view(token)}


def revoke_token(context: RequestContext) -> RevokedView:
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
