"""The names of everything that is stored, once, as plain data: CDK, adapters and fixtures all read it from here."""

from dataclasses import dataclass
from typing import Final, Literal

from onthedot.domain.runs.records import Priority
from onthedot.domain.runs.slots import shard_of

PARTITION_KEY: Final = "pk"
SORT_KEY: Final = "sk"
TTL_ATTRIBUTE: Final = "expires_at"


@dataclass(frozen=True, slots=True)
class Index:
    """A sparse secondary index: an item stands in it only while it has both key attributes."""

    name: str
    partition_key: str
    sort_key: str
    sort_type: Literal["N", "S"]
    included: tuple[str, ...] = ()
    """Non-key attributes that are projected; empty means KEYS_ONLY."""


# What routing needs, and nothing that `start` changes: else every start would cost an index write.
DUE: Final = Index("due", "slot", "fire_at", "N", ("generation", "claim_token", "tenant", "priority", "pool", "kind"))
LISTING: Final = Index("listing", "listed_under", "created_at", "N")
FAILURES: Final = Index("failures", "failed_under", "finished_at", "N")
INDEXES: Final = (DUE, LISTING, FAILURES)

LISTING_SHARDS: Final = 8
"""Partitions of the listing for each tenant: one index partition takes 1,000 writes a second."""

PAYLOADS_PREFIX: Final = "payloads/"
EVENT_PAYLOADS_PREFIX: Final = "event-payloads/"
RESULTS_PREFIX: Final = "results/"

DEFAULT_POOL: Final = "default"
PRIORITIES: Final = (Priority.HIGH, Priority.MEDIUM, Priority.LOW)


def listed_under(tenant: str, job_id: str) -> str:
    """Return the partition of the listing in which a tenant's job is found."""
    return f"{tenant}#{shard_of(job_id, LISTING_SHARDS)}"
