"""The names of everything that is stored, as plain data and key functions. CDK, engines and fixtures read them here."""

import hashlib
from dataclasses import dataclass
from typing import Final, Literal

from onthedot.core.choices import Priority

PARTITION_KEY: Final = "pk"
SORT_KEY: Final = "sk"
TTL_ATTRIBUTE: Final = "expires_at"


@dataclass(frozen=True, slots=True)
class Index:
    """A sparse secondary index: an item is in it only while it has both key attributes."""

    name: str
    partition_key: str
    sort_key: str
    sort_type: Literal["N", "S"]
    included: tuple[str, ...] = ()
    """The other attributes that are projected. Empty means KEYS_ONLY."""


# The attributes that routing needs, and none that `start` changes: else every start would cost an index write.
_ROUTING: Final = ("generation", "claim_token", "tenant", "priority", "pool", "kind", "format", "gates", "start_by")
DUE: Final = Index("due", "slot", "fire_at", "N", _ROUTING)
LABEL: Final = "label"
"""The attribute of a job with its name and tags. Only the listing index needs it."""
# The facts of a job that no run changes: else runs would cost index writes.
LISTING: Final = Index("listing", "listed_under", "created_at", "N", ("kind", "priority", "workflow", LABEL, "format"))
FAILURES: Final = Index("failures", "failed_under", "finished_at", "N")
INDEXES: Final = (DUE, LISTING, FAILURES)

PAYLOADS: Final = "payloads/"
"""Prefix of the blob keys of jobs' payloads."""
EVENT_PAYLOADS: Final = "event-payloads/"
"""Prefix of the blob keys of payloads that events give to runs."""
RESULTS: Final = "results/"
"""Prefix of the blob keys of results."""
PASSES: Final = "passes/"
"""Prefix of the blob keys of notes that a pass over blobs leaves for the next one."""
BLOBS: Final = (PAYLOADS, EVENT_PAYLOADS, RESULTS)
"""The prefixes of all blob keys."""

DEFAULT_POOL: Final = "default"
PRIORITIES: Final = (Priority.HIGH, Priority.MEDIUM, Priority.LOW)


def blobs_of(tenant: str, prefix: str) -> str:
    """Return the prefix of the tenant's blob keys of this kind. Tenants share no blob, not even one with equal content.

    A name may have any characters, so its hash stands for it.
    """
    return f"{prefix}{hashlib.sha256(tenant.encode()).hexdigest()[:32]}/"
