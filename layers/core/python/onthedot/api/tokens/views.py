"""Types of the answers about API tokens."""

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict


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
