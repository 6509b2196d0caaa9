"""What may differ between two deployments, read once from the CDK context and checked before anything is built.

Everything here can be given as `-c key=value` (text) or in `cdk.json` (typed). A wrong value, or a key that
nobody knows, stops the synthesis with the key's name: a typo must not deploy the default in silence.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from allowed_calls import LOCAL_CALLS, LOCAL_FUNCTIONS, read_calls, read_functions
from context_fields import listed
from context_values import BadContext, choice, flag, text, whole_number
from onthedot.domain.runs.records import Priority
from onthedot.domain.targets.allow_list import AllowedCall, AllowList
from onthedot.domain.workers.pools import Pool
from onthedot.schema import PRIORITIES
from pool_config import DEFAULT_STAGE_POOLS, StagePool, read_pools
from shares import LEAST_CONCURRENCY, MOST_CONCURRENCY, share_out

STAGE_PATTERN: Final = r"[a-z][a-z0-9-]{0,19}"
DISPOSABLE_STAGE: Final = re.compile(r"(local|dev|test|ci)(-.*)?")
# What CloudWatch Logs accepts up to a year, by CDK's names.
RETENTION: Final = {
    1: "ONE_DAY",
    3: "THREE_DAYS",
    7: "ONE_WEEK",
    14: "TWO_WEEKS",
    30: "ONE_MONTH",
    60: "TWO_MONTHS",
    90: "THREE_MONTHS",
    180: "SIX_MONTHS",
    365: "ONE_YEAR",
}
# What the local stage has unless told otherwise. Its one token belongs to the tenant `local`.
_LOCAL: Final[Mapping[str, Any]] = {
    "lambda_functions": LOCAL_FUNCTIONS,
    "aws_calls": LOCAL_CALLS,
    "bus_tenant": "local",
    "s3_event_buckets": ("onthedot-local-uploads",),
}
# Keys that the CDK CLI itself keeps in the context without a prefix.
_CDK_KEYS: Final = frozenset({"acknowledged-issue-numbers"})
_OURS: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmThroughput:
    """Request units a second that the table can take at once, instead of growing into them."""

    reads: int
    writes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageConfig:
    """One deployment. Build it with `from_context`, which validates."""

    stage: str
    region: str | None = None
    account: str | None = None
    shards: int = 16
    shards_per_group: int = 4
    lookahead: int = 3
    """Buckets (minutes) that runs are handed to SQS ahead of their time."""
    worker_concurrency: int = 100
    """Batches that Lambda workers run at the same time, over all priorities."""
    worker_weights: tuple[int, int, int] = (6, 3, 1)
    """HIGH:MEDIUM:LOW shares of it."""
    long_concurrency: int = 20
    """Runs of the `long` pool that Lambda workers do at the same time."""
    backlog_limit: int = 50_000
    """Messages waiting in a queue above which no more runs are claimed for it."""
    history_days: int = 30
    log_retention_days: int = 30
    api_rate: int = 200
    """Requests a second that the API lets through, and how many at once:"""
    api_burst: int = 400
    warm_throughput: WarmThroughput | None = None
    pools: tuple[StagePool, ...] = DEFAULT_STAGE_POOLS
    backlog_per_task: int = 10
    """Runs that may wait for each task of a Fargate pool before another task is started."""
    vpc_id: str | None = None
    """An existing network for Fargate's tasks, with those of its subnets that lead out; without, they get their own."""
    vpc_subnets: tuple[str, ...] = ()
    lambda_functions: tuple[str, ...] = ()
    """Names or ARNs of the functions that jobs may call, with `*` and `?`."""
    aws_calls: tuple[AllowedCall, ...] = ()
    """What else jobs may do in AWS's name."""
    bus_tenant: str = "default"
    """Whose jobs hear the events of the stage's bus."""
    s3_event_buckets: tuple[str, ...] = ()
    """Buckets whose uploads are events for that tenant's jobs; each has EventBridge notifications turned on."""
    publish_all_changes: bool = False
    """Whether the bus hears of every change of a job's or run's state, or of ends only."""
    publish_results: bool = False
    """Whether those events carry payloads and results."""
    local: bool = False
    """For the local AWS: layers for this machine's interpreter, callbacks to loopback, nothing retained."""

    @classmethod
    def from_context(cls, context: Mapping[str, Any]) -> Self:
        """Raises `BadContext` naming the key that is missing, unknown or out of range."""
        ours = {key: value for key, value in context.items() if _is_ours(key)}
        _refuse_unknown(ours, [field.name for field in fields(cls)])
        values: dict[str, Any] = {key: _READERS[key](key, value) for key, value in ours.items() if value is not None}
        if "stage" not in values:
            raise BadContext("stage", None, "is required, e.g. -c stage=dev")
        if values.get("local"):
            values = {**_LOCAL, **values}
        config = cls(**values)
        _check_together(config)
        return config

    @property
    def disposable(self) -> bool:
        """Whether the data may go when the stack goes."""
        return self.local or DISPOSABLE_STAGE.fullmatch(self.stage) is not None

    @property
    def shard_groups(self) -> int:
        """Tick messages a minute, each for one dispatcher."""
        return -(-self.shards // self.shards_per_group)

    @property
    def all_pools(self) -> tuple[Pool, ...]:
        return tuple(known.pool for known in self.pools)

    @property
    def allow_list(self) -> AllowList:
        """Refuses at the API, is obeyed by workers, and is what they are granted."""
        return AllowList(self.lambda_functions, self.aws_calls)

    @property
    def bus_name(self) -> str:
        return f"onthedot-{self.stage}"

    def name(self, part: str) -> str:
        """The physical name of a part of this stage."""
        return f"onthedot-{self.stage}-{part}"

    def concurrency_by_priority(self) -> dict[Priority, int]:
        """The total shared out by weight; nobody gets less than SQS allows, so LOW always moves."""
        return dict(zip(PRIORITIES, share_out(self.worker_concurrency, self.worker_weights), strict=True))


def _is_ours(key: str) -> bool:
    # CDK's own keys carry a prefix with a colon, a slash or an @.
    return _OURS.fullmatch(key) is not None and key not in _CDK_KEYS


def _refuse_unknown(ours: Mapping[str, Any], known: list[str]) -> None:
    for key in ours:
        if key not in known:
            near = difflib.get_close_matches(key.replace("-", "_"), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise BadContext(key, ours[key], f"is no context value of onthedot; {hint}")


def _check_together(config: StageConfig) -> None:
    if config.api_burst < config.api_rate:
        raise BadContext("api_burst", config.api_burst, f"is less than api_rate={config.api_rate}")
    for priority, share in config.concurrency_by_priority().items():
        if share > MOST_CONCURRENCY:
            why = f"gives {priority} {share}; one event source takes at most {MOST_CONCURRENCY}"
            raise BadContext("worker_concurrency", config.worker_concurrency, why)
    if config.local and any(known.fargate for known in config.pools):
        raise BadContext("pools", [known.pool.name for known in config.pools], "the local AWS has no Fargate")
    if (config.vpc_id is None) != (not config.vpc_subnets):
        key = "vpc_subnets" if config.vpc_id is None else "vpc_id"
        raise BadContext(key, getattr(config, key), "vpc_id and vpc_subnets are given together, or neither")


def _weights(key: str, value: Any) -> tuple[int, int, int]:
    parts = value.split(":") if isinstance(value, str) else value
    if not isinstance(parts, list) or len(parts) != len(PRIORITIES):
        raise BadContext(key, value, "must be HIGH:MEDIUM:LOW, e.g. 6:3:1")
    high, medium, low = (whole_number(1, 1000)(key, part) for part in parts)
    return high, medium, low


def _warm_throughput(key: str, value: Any) -> WarmThroughput:
    parts = value.split(":") if isinstance(value, str) else value
    if not isinstance(parts, list) or len(parts) != 2:
        raise BadContext(key, value, "must be READS:WRITES a second, e.g. 12000:40000")
    # A new on-demand table has 12,000 reads and 4,000 writes anyway, and DynamoDB refuses less.
    reads, writes = whole_number(12_000, 10_000_000), whole_number(4_000, 10_000_000)
    return WarmThroughput(reads=reads(key, parts[0]), writes=writes(key, parts[1]))


def _subnets(key: str, value: Any) -> tuple[str, ...]:
    return tuple(text(r"subnet-[0-9a-f]{8,17}")(key, subnet) for subnet in listed(key, value))


def _buckets(key: str, value: Any) -> tuple[str, ...]:
    return tuple(text(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")(key, bucket) for bucket in listed(key, value))


_READERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "stage": text(STAGE_PATTERN),
    "region": text(r"[a-z]{2}(-[a-z]+)+-\d"),
    "account": text(r"\d{12}"),
    "shards": whole_number(1, 1024),
    "shards_per_group": whole_number(1, 1024),
    "lookahead": whole_number(1, 10),
    "worker_concurrency": whole_number(LEAST_CONCURRENCY * len(PRIORITIES), 3 * MOST_CONCURRENCY),
    "worker_weights": _weights,
    "long_concurrency": whole_number(LEAST_CONCURRENCY, MOST_CONCURRENCY),
    # A deleted job's tombstone lives 14 days: shorter history would forget a key that is still promised.
    "history_days": whole_number(14, 3650),
    "backlog_limit": whole_number(100, 120_000),
    "log_retention_days": choice(tuple(RETENTION)),
    "api_rate": whole_number(1, 10_000),
    "api_burst": whole_number(1, 10_000),
    "warm_throughput": _warm_throughput,
    "pools": read_pools,
    "backlog_per_task": whole_number(1, 10_000),
    "vpc_id": text(r"vpc-[0-9a-f]{8,17}"),
    "vpc_subnets": _subnets,
    "lambda_functions": read_functions,
    "aws_calls": read_calls,
    "bus_tenant": text(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"),
    "s3_event_buckets": _buckets,
    "publish_all_changes": flag,
    "publish_results": flag,
    "local": flag,
}
