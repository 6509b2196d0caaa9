"""API tokens: an item under the hash of the token, and its entry on the list of tokens."""

import logging
from collections.abc import Iterable, Iterator
from typing import Final

from onthedot.access.ports import Principal, Token
from onthedot.core.items import EXPIRES_AT, Item, Items, Value
from onthedot.core.ports import Clock, Page
from onthedot.core.schema import TOKENS_PARTITION, listed_token_key, token_key

_LOG: Final = logging.getLogger(__name__)
_HASH: Final = "token_hash"
_UNTIL: Final = "valid_until"


class TokenStore:
    """A store of API tokens, by their hash only. An expired token is neither found nor on the list.

    The entry on the list is written first and deleted last. So a token that is found is always on the list, wherever a
    process stops.
    """

    def __init__(self, items: Items, clock: Clock) -> None:
        self._items = items
        self._clock = clock

    def find(self, token_hash: str) -> Token | None:
        """Return the token with this hash as it is now, or None when there is none."""
        item = self._items.get(token_key(token_hash))
        return None if item is None else next(self._valid([item]), None)

    def add(self, token_hash: str, token: Token) -> None:
        values = _values(token)
        self._items.put(listed_token_key(token.id), {**values, _HASH: token_hash})
        self._items.put(token_key(token_hash), values)

    def page(self, limit: int, cursor: str | None = None, tenant: str | None = None) -> Page[Token]:
        """Return a page of the tokens of all tenants, or of one tenant, by their ids.

        A page may have fewer tokens than the limit, also none, and still have a cursor.
        """
        page = self._items.query(TOKENS_PARTITION, after=cursor, limit=limit)
        tokens = [token for token in self._valid(page.items) if tenant in (None, token.principal.tenant)]
        return Page(tokens, page.cursor)

    def remove(self, token_id: str) -> bool:
        """Delete a token, which is not found from then on. Return whether there was one.

        After a failure, calling it again deletes the rest.
        """
        entry = self._items.get(listed_token_key(token_id))
        if entry is None:
            return False
        self._items.delete(token_key(entry.text(_HASH)))
        self._items.delete(entry.key)
        return True

    def _valid(self, items: Iterable[Item]) -> Iterator[Token]:
        """Yield the tokens that have not expired. A token that cannot be read is not valid."""
        now = self._clock.now()
        for item in items:
            try:
                token = _token(item)
            except (KeyError, ValueError, TypeError) as error:
                _LOG.error("token_unreadable", extra={"item": item.key.sort, "why": repr(error)})
                continue
            if token.is_valid(now):
                yield token


def _values(token: Token) -> dict[str, Value]:
    who, expiry = token.principal, token.expires_at
    # The instant counts. An item expires at a whole second, which must not be earlier.
    expiring: dict[str, Value] = {} if expiry is None else {_UNTIL: expiry, EXPIRES_AT: -(-expiry // 1000)}
    about = {"id": token.id, "tenant": who.tenant, "role": who.role, "name": who.name}
    return {**about, "token_created_at": token.created_at, **expiring}


def _token(item: Item) -> Token:
    if item.is_newer:
        raise ValueError("a newer version wrote it")
    if _UNTIL not in item.values and EXPIRES_AT in item.values:
        raise ValueError("it expires, and the instant is missing")
    return Token(
        # A token that an earlier version made has no id. It is valid, and not on the list.
        item.text("id") if "id" in item.values else "",
        Principal(item.text("tenant"), item.text("role"), item.text("name")),
        item.number("token_created_at"),
        item.number(_UNTIL) if _UNTIL in item.values else None,
    )
