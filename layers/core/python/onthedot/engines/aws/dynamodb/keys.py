"""The keys of every kind of item in the table. No other module builds a key."""

from collections.abc import Mapping
from typing import Any, Final

from onthedot.domain.ids import event_digest
from onthedot.schema import PARTITION_KEY, SORT_KEY

JOB_SORT_KEY: Final = "job"
RUN_PREFIX: Final = "run#"
TOKEN_PREFIX: Final = "token#"  # noqa: S105 (a prefix, no secret)
TOKENS_PARTITION: Final = "tokens"
LIMITS_PARTITION: Final = "limits"
PROGRESS_PREFIX: Final = "progress#"
SHARDS_PARTITION: Final = "shards"
WORKERS_PARTITION: Final = "workers"
SIGNING_PREFIX: Final = "signing#"
PATTERN_PREFIX: Final = "pattern#"
EVENT_PREFIX: Final = "event#"
GATE_PREFIX: Final = "gate#"
GATES_PREFIX: Final = "gates#"
STATISTICS_PREFIX: Final = "statistics#"
_OTHER_PARTITIONS: Final = frozenset({"", TOKENS_PARTITION, LIMITS_PARTITION, SHARDS_PARTITION, WORKERS_PARTITION})
"""The partitions without a `#` that have no records. DynamoDB has no empty key."""

Key = dict[str, Any]


def _key(partition: str, sort: str) -> Key:
    return {PARTITION_KEY: {"S": partition}, SORT_KEY: {"S": sort}}


def run_key(run_id: str) -> Key:
    """Return the key of a job or run. Stamped runs are in the partition of their job, sorted by time."""
    job_id, _, tail = run_id.partition(".")
    return _key(job_id, RUN_PREFIX + tail if tail else JOB_SORT_KEY)


def may_be_record(run_id: str) -> bool:
    """Return whether a record may have the id. One that a user made up may name the partition of other items.

    IAM refuses a whole batch in which one key is that of a token.
    """
    partition = run_id.partition(".")[0]
    return partition not in _OTHER_PARTITIONS and "#" not in partition


def run_id_of(item: Mapping[str, Any]) -> str:
    job_id, sort = str(item[PARTITION_KEY]["S"]), str(item[SORT_KEY]["S"])
    return job_id if sort == JOB_SORT_KEY else f"{job_id}.{sort.removeprefix(RUN_PREFIX)}"


def job_id_of(item: Mapping[str, Any]) -> str:
    return str(item[PARTITION_KEY]["S"])


def token_key(token_hash: str) -> Key:
    return _key(TOKEN_PREFIX + token_hash, "token")


def listed_token_key(token_id: str) -> Key:
    """Return the key of a token's entry on the list. All entries are in one partition."""
    return _key(TOKENS_PARTITION, token_id)


def is_of_tenant(item: Mapping[str, Any], tenant: str) -> bool:
    """Return whether an item belongs to the tenant, by its key or its attribute. Workers have neither."""
    partition = str(item[PARTITION_KEY]["S"])
    if partition in (GATES_PREFIX + tenant, SIGNING_PREFIX + tenant, statistics_partition(tenant)):
        return True
    # The length of the name comes first, so that no other tenant's partition begins in the same way.
    own = tuple(f"{prefix}{len(tenant)}:{tenant}#" for prefix in (GATE_PREFIX, PATTERN_PREFIX, EVENT_PREFIX))
    return partition.startswith(own) or item.get("tenant") == {"S": tenant}


def limits_key(part: str) -> Key:
    """Return the key of a limits item. All of them are in one partition, so that one query reads them all."""
    return _key(LIMITS_PARTITION, part)


def progress_key(shard: int) -> Key:
    return _key(f"{PROGRESS_PREFIX}{shard}", "progress")


def progress_shard(item: Mapping[str, Any]) -> int:
    return int(str(item[PARTITION_KEY]["S"]).removeprefix(PROGRESS_PREFIX))


def shards_key() -> Key:
    return _key(SHARDS_PARTITION, "shards")


def stage_key() -> Key:
    """Return the key of the state of the stage. All parts may read the partition of the number of shards."""
    return _key(SHARDS_PARTITION, "stage")


def worker_key(worker_id: str) -> Key:
    """Return the key of a pull worker. All workers are in one partition, so that one query reads them all."""
    return _key(WORKERS_PARTITION, worker_id)


def signing_key(tenant: str) -> Key:
    return _key(SIGNING_PREFIX + tenant, "signing")


def pattern_partition(tenant: str, index_key: str) -> str:
    """Return the partition of an index key.

    The length of the tenant's name comes first, so that no two pairs of tenant and key share a partition.
    """
    return f"{PATTERN_PREFIX}{len(tenant)}:{tenant}#{index_key}"


def pattern_key(tenant: str, index_key: str, job_id: str, name: str) -> Key:
    return _key(pattern_partition(tenant, index_key), f"{job_id}#{name}")


def event_key(tenant: str, event_id: str) -> Key:
    return key_of_event(tenant, event_digest(event_id))


def key_of_event(tenant: str, digest: str) -> Key:
    """Return the key of a remembered event, from the hash of its id."""
    return _key(f"{EVENT_PREFIX}{len(tenant)}:{tenant}#{digest}", "event")


def gate_partition(gate: str) -> str:
    """Return the partition with the state and the pages of a gate, from its text."""
    return GATE_PREFIX + gate


def gate_key(gate: str, page: int) -> Key:
    """Return the key of a page of a gate. Page 0 is a part of the state."""
    return _key(gate_partition(gate), str(page))


def gate_of(item: Mapping[str, Any]) -> str | None:
    """Return the text of the gate whose state this is. None: it is another item."""
    partition = str(item[PARTITION_KEY]["S"])
    return partition.removeprefix(GATE_PREFIX) if partition.startswith(GATE_PREFIX) else None


def gates_partition(tenant: str) -> str:
    """Return the partition with the limits of all gates of a tenant."""
    return GATES_PREFIX + tenant


def gate_limits_key(tenant: str, name: str) -> Key:
    # Without the prefix, a gate with the name `job` would look the same as a job.
    return _key(gates_partition(tenant), GATE_PREFIX + name)


def gate_name_of(item: Mapping[str, Any]) -> str:
    return str(item[SORT_KEY]["S"]).removeprefix(GATE_PREFIX)


def statistics_partition(tenant: str) -> str:
    """Return the partition with the counters of all minutes of a tenant."""
    return STATISTICS_PREFIX + tenant


def minute_sort(minute: int) -> str:
    """Return the sort key of the counters of a minute, which is counted from 1970. It has a fixed length."""
    return f"{minute:012d}"


def statistics_key(tenant: str, minute: int) -> Key:
    return _key(statistics_partition(tenant), minute_sort(minute))


def minute_of(item: Mapping[str, Any]) -> int:
    return int(str(item[SORT_KEY]["S"]))
