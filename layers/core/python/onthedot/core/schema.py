"""The names of everything that is stored, as plain data and key functions. CDK, engines and fixtures read them here."""

import hashlib
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from onthedot.core.choices import Priority
from onthedot.core.ids import event_digest

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
EVENT_PAYLOADS: Final = "event-payloads/"
RESULTS: Final = "results/"
PASSES: Final = "passes/"
"""Prefix of the blob keys of notes that a pass over blobs leaves for the next one."""
BLOBS: Final = (PAYLOADS, EVENT_PAYLOADS, RESULTS)
DEFAULT_POOL: Final = "default"
PRIORITIES: Final = (Priority.HIGH, Priority.MEDIUM, Priority.LOW)


def blobs_of(tenant: str, prefix: str) -> str:
    """Return the prefix of the tenant's blob keys. Tenants share no blob, not even one with equal content."""
    return f"{prefix}{hashlib.sha256(tenant.encode()).hexdigest()[:32]}/"


JOB_SORT_KEY: Final = "job"
RUN_PREFIX: Final = "run#"
TOKEN_PREFIX: Final = "token#"  # noqa: S105 (a prefix, no secret)
TOKENS_PARTITION: Final = "tokens"
LIMITS_PARTITION: Final = "limits"
TENANT_PREFIX: Final = "tenant#"
PROGRESS_PREFIX: Final = "progress#"
SHARDS_PARTITION: Final = "shards"
WORKERS_PARTITION: Final = "workers"
SIGNING_PREFIX: Final = "signing#"
PATTERN_PREFIX: Final = "pattern#"
EVENT_PREFIX: Final = "event#"
GATE_PREFIX: Final = "gate#"
GATES_PREFIX: Final = "gates#"
STATISTICS_PREFIX: Final = "statistics#"
REGISTRIES: Final = (GATES_PREFIX,)
"""The prefixes before a tenant's name of the partitions whose items the API may also delete."""
_OTHER_PARTITIONS: Final = frozenset({"", TOKENS_PARTITION, LIMITS_PARTITION, SHARDS_PARTITION, WORKERS_PARTITION})
"""The partitions without a `#` that have no records. DynamoDB has no empty key."""


class Key(NamedTuple):
    partition: str
    sort: str


def run_key(run_id: str) -> Key:
    """Return the key of a job or run. Stamped runs are in the partition of their job, sorted by time."""
    job_id, _, tail = run_id.partition(".")
    return Key(job_id, RUN_PREFIX + tail if tail else JOB_SORT_KEY)


def run_id_of(key: Key) -> str:
    return key.partition if key.sort == JOB_SORT_KEY else f"{key.partition}.{key.sort.removeprefix(RUN_PREFIX)}"


def may_be_record(run_id: str) -> bool:
    """Return whether a record may have the id, which a user may have made up.

    IAM refuses a whole batch in which one key is that of a token.
    """
    partition = run_id.partition(".")[0]
    return partition not in _OTHER_PARTITIONS and "#" not in partition


def token_key(token_hash: str) -> Key:
    return Key(TOKEN_PREFIX + token_hash, "token")


def listed_token_key(token_id: str) -> Key:
    return Key(TOKENS_PARTITION, token_id)


def limits_key(tenant: str) -> Key:
    """Return a key in the one partition of all tenants' limits, so that one query reads them all."""
    return Key(LIMITS_PARTITION, TENANT_PREFIX + tenant)


def progress_key(shard: int) -> Key:
    return Key(f"{PROGRESS_PREFIX}{shard}", "progress")


def progress_shard(key: Key) -> int:
    return int(key.partition.removeprefix(PROGRESS_PREFIX))


def shards_key() -> Key:
    return Key(SHARDS_PARTITION, "shards")


def stage_key() -> Key:
    """Return the key of the state of the stage. All parts may read the partition of the number of shards."""
    return Key(SHARDS_PARTITION, "stage")


def worker_key(worker_id: str) -> Key:
    """Return a key in the one partition of all workers, so that one query reads them all."""
    return Key(WORKERS_PARTITION, worker_id)


def signing_key(tenant: str) -> Key:
    return Key(SIGNING_PREFIX + tenant, "signing")


def pattern_partition(tenant: str, index_key: str) -> str:
    """Return the partition of an index key. The length of the tenant's name keeps pairs apart."""
    return f"{PATTERN_PREFIX}{len(tenant)}:{tenant}#{index_key}"


def pattern_key(tenant: str, index_key: str, job_id: str, name: str) -> Key:
    return Key(pattern_partition(tenant, index_key), f"{job_id}#{name}")


def event_key(tenant: str, event_id: str) -> Key:
    return key_of_event(tenant, event_digest(event_id))


def key_of_event(tenant: str, digest: str) -> Key:
    return Key(f"{EVENT_PREFIX}{len(tenant)}:{tenant}#{digest}", "event")


def gate_key(gate: str, page: int) -> Key:
    """Return the key of a page of a gate, from its text. Page 0 is a part of the state."""
    return Key(GATE_PREFIX + gate, str(page))


def gate_of(key: Key) -> str | None:
    return key.partition.removeprefix(GATE_PREFIX) if key.partition.startswith(GATE_PREFIX) else None


def gate_limits_key(tenant: str, name: str) -> Key:
    # Without the prefix, a gate with the name `job` would look the same as a job.
    return Key(GATES_PREFIX + tenant, GATE_PREFIX + name)


def gate_name_of(key: Key) -> str:
    return key.sort.removeprefix(GATE_PREFIX)


def statistics_key(tenant: str, minute: int) -> Key:
    """Return the key of the counters of a minute, which is counted from 1970. Its sort key has a fixed length."""
    return Key(STATISTICS_PREFIX + tenant, f"{minute:012d}")


def is_of_tenant(key: Key, tenant: str) -> bool:
    """Return whether the key names the tenant. Those of records, tokens and workers do not."""
    if key.partition in [prefix + tenant for prefix in (*REGISTRIES, SIGNING_PREFIX, STATISTICS_PREFIX)]:
        return True
    # The length of the name comes first, so that no other tenant's partition begins in the same way.
    own = tuple(f"{prefix}{len(tenant)}:{tenant}#" for prefix in (GATE_PREFIX, PATTERN_PREFIX, EVENT_PREFIX))
    return key.partition.startswith(own)
