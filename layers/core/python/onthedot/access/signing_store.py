"""The keys that sign the calls of tenants: an item for each tenant."""

import json
from collections.abc import Sequence
from typing import Final

from onthedot.core import json_text
from onthedot.core.items import Items, absent, equals
from onthedot.core.ports import Clock
from onthedot.core.remembered import Remembered
from onthedot.core.schema import signing_key
from onthedot.targets.webhooks import SigningKey

SIGNING_MS: Final = 60_000
"""Milliseconds to remember signing keys: far less than the time for which an old and a new key are both valid."""
_KEYS: Final = "keys"


class SigningStore:
    """A store of the keys that sign the calls of a tenant. One that remembers reads them at most once a minute.

    While the table fails, the last keys sign on: a receiver that has them accepts the call.
    """

    def __init__(self, items: Items, clock: Clock, *, remembers: bool = False) -> None:
        self._items = items
        self._known: Remembered[str, Sequence[SigningKey]] = Remembered(
            self._read,
            clock,
            known_ms=SIGNING_MS if remembers else 0,
            unknown_ms=None if remembers else 0,
            failure="signing_keys_unknown",
        )

    def keys(self, tenant: str) -> Sequence[SigningKey]:
        """Return the keys, the newest first. A tenant has none before the first use."""
        keys = self._known.find(tenant)
        if not keys:
            self._known.forget(tenant)
        return keys

    def replace(self, tenant: str, seen: Sequence[SigningKey], keys: Sequence[SigningKey]) -> bool:
        """Replace the keys if they are still the `seen` ones. Return whether they were."""
        self._known.forget(tenant)
        expected = equals(_KEYS, keys_text(seen))
        text = keys_text(keys)
        done, item = self._items.put(
            signing_key(tenant), {_KEYS: text}, [expected if seen else absent(_KEYS) | expected]
        )
        # Keys are random. If ours are stored, our own write succeeded and its reply was lost.
        return done or (item is not None and item.values.get(_KEYS) == text)

    def _read(self, tenant: str) -> Sequence[SigningKey]:
        item = self._items.get(signing_key(tenant))
        if item is None:
            return ()
        item.refuse_newer("the signing key")
        return keys_of(item.text(_KEYS))


def keys_text(keys: Sequence[SigningKey]) -> str:
    """Return the keys as text. Equal keys give equal text, so that a writer can expect the keys that it read."""
    return json_text.to_text([[key.secret, key.created_at, key.retires_at] for key in keys])


def keys_of(text: str) -> tuple[SigningKey, ...]:
    """Return the keys from their text. What a newer version added to them is ignored."""
    return tuple(SigningKey(*values[:3]) for values in json.loads(text))
