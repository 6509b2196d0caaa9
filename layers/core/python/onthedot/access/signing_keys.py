"""Make and rotate the keys that sign a tenant's calls: made at the first use, rotated without a gap."""

from collections.abc import Sequence
from typing import Final

from onthedot.core.errors import Unavailable
from onthedot.engine import Engine
from onthedot.targets.webhooks import SigningKey, fresh_key, rotated

TRIES: Final = 5


def keys_of(engine: Engine, tenant: str) -> Sequence[SigningKey]:
    """Return the tenant's keys, the newest first, at least one. Raise Unavailable."""
    for _ in range(TRIES):
        keys = engine.signing.keys(tenant)
        if keys:
            return keys
        engine.signing.replace(tenant, (), (fresh_key(engine.clock.now()),))
    raise Unavailable(f"the signing keys of {tenant} cannot be made now")


def rotate_keys(engine: Engine, tenant: str, overlap_ms: int) -> Sequence[SigningKey]:
    """Make a new key that signs from now on. The one before it signs too, until the overlap ends. Raise Unavailable."""
    for _ in range(TRIES):
        seen = engine.signing.keys(tenant)
        keys = rotated(seen, engine.clock.now(), overlap_ms)
        if engine.signing.replace(tenant, seen, keys):
            return keys
    raise Unavailable(f"the signing keys of {tenant} keep changing; try again")
