"""Show API tokens."""

from collections.abc import Sequence

from onthedot.api.core.times import show_time
from onthedot.api.tokens.views import NewTokenView, TokensView, TokenView
from onthedot.domain.instants import format_instant
from onthedot.ports import Token


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


def new_token_view(api_token: str, token: Token) -> NewTokenView:
    return {"token": api_token, **token_view(token)}


def tokens_view(tokens: Sequence[Token], next_cursor: str | None) -> TokensView:
    return {"tokens": [token_view(token) for token in tokens], "next_cursor": next_cursor}
