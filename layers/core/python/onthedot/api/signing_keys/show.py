"""Show signing keys."""

from collections.abc import Sequence

from onthedot.api.core.times import show_time
from onthedot.api.signing_keys.views import SigningKeysView
from onthedot.domain.instants import format_instant
from onthedot.domain.targets.webhooks import SigningKey


def signing_keys_view(keys: Sequence[SigningKey]) -> SigningKeysView:
    """Return the keys with their secrets."""
    return {
        "keys": [
            {
                "secret": key.secret,
                "created_at": format_instant(key.created_at),
                "retires_at": show_time(key.retires_at),
            }
            for key in keys
        ]
    }
