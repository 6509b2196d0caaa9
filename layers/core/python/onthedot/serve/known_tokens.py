"""Tokens that were checked lately. A token that is revoked stops to work within seconds."""

from typing import Final

from onthedot.access.token_store import TokenStore
from onthedot.ports import Clock, Principal
from onthedot.use_cases.access.tokens import authenticate

KNOWN_MS: Final = 5_000
MOST: Final = 1_000
"""Most headers that are remembered. A flood of wrong tokens must not fill the memory."""


class KnownTokens:
    """The callers by their `Authorization` header, each remembered for a short time."""

    def __init__(self, tokens: TokenStore, clock: Clock) -> None:
        self._tokens = tokens
        self._clock = clock
        self._known: dict[str, tuple[int, Principal]] = {}

    def authenticate(self, authorization: str | None) -> Principal | None:
        """Return the caller that the header names, or None. A wrong token is not remembered. Raise Unavailable."""
        if authorization is None:
            return None
        now = self._clock.now()
        at, principal = self._known.get(authorization, (0, None))
        if principal is not None and 0 <= now - at < KNOWN_MS:
            return principal
        principal = authenticate(self._tokens, authorization)
        if principal is None:
            self._known.pop(authorization, None)
            return None
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[authorization] = (now, principal)
        return principal
