"""The parameters of a deployment, read once from the CDK context and checked before anything is built.

Each can be given as `-c key=value` (text) or in `cdk.json` (typed). A wrong value or an unknown key stops the synthesis
with the name of the key, so that a typo does not deploy the default.
"""

import difflib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple, Self

from pydantic import Field, field_validator

from allowed_calls import LOCAL_CALLS, LOCAL_FUNCTIONS, Call, Function
from context_values import LISTED, BadContext, ContextModel, Flag, Number, checked, parts
from onthedot.access.tokens import RESERVED_TENANT
from onthedot.core.choices import Priority
from onthedot.core.pools import Pool
from onthedot.core.schema import PRIORITIES
from onthedot.targets.rules import AllowList
from pool_config import StagePools, with_default_pools

# The limits of an SQS event source.
LEAST_CONCURRENCY: Final = 2
MOST_CONCURRENCY: Final = 1000


def share_out(total: int, weights: tuple[int, ...]) -> list[int]:
    """Return whole shares that add up to the total: the minimum for each, and the rest by largest remainder."""
    spare = total - LEAST_CONCURRENCY * len(weights)
    # Weights apply to the total, so that 6:3:1 of 100 is 60, 30, 10. The minimum only raises small shares.
    spares = [max(0.0, total * weight / sum(weights) - LEAST_CONCURRENCY) for weight in weights]
    scale = spare / sum(spares) if sum(spares) else 0.0
    exact = [share * scale for share in spares]
    shares = [int(share + 1e-9) for share in exact]
    by_remainder = sorted(range(len(weights)), key=lambda at: shares[at] - exact[at])
    for at in by_remainder[: spare - sum(shares)]:
        shares[at] += 1
    return [LEAST_CONCURRENCY + share for share in shares]


DISPOSABLE_STAGE: Final = re.compile(r"(local|dev|test|ci)(-[a-z0-9-]+)?")
# The retention times that CloudWatch Logs accepts, up to a year, with the names of CDK.
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
# The defaults of the local stage. Its one token belongs to the tenant `local`.
_LOCAL: Final[Mapping[str, Any]] = {
    "lambda_functions": LOCAL_FUNCTIONS,
    "aws_calls": LOCAL_CALLS,
    "bus_tenant": "local",
    "s3_event_buckets": ("onthedot-local-uploads",),
}
# Keys that the CDK CLI itself keeps in the context without a prefix.
_CDK_KEYS: Final = frozenset({"acknowledged-issue-numbers"})
_OURS: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")

Weight = Annotated[Number, Field(ge=1, le=1000)]
Subnet = Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")]
DomainName = Annotated[str, Field(max_length=253, pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$")]
Certificate = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[!-~]+$")]
Bucket = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]


class WarmThroughput(NamedTuple):
    """The request units a second that the table can take at once, without growing first.

    A new on-demand table has 12,000 reads and 4,000 writes anyway, and DynamoDB refuses less.
    """

    reads: Annotated[Number, Field(ge=12_000, le=10_000_000)]
    writes: Annotated[Number, Field(ge=4_000, le=10_000_000)]


class HostedZone(NamedTuple):
    """A zone of Route 53, in which the stage makes the record of its domain."""

    zone_id: Annotated[str, Field(pattern=r"^Z[A-Z0-9]{1,31}$")]
    name: DomainName


class StageConfig(ContextModel):
    """One deployment. Build it with `from_context`, which also checks the values together."""

    stage: str = Field(pattern=r"^[a-z][a-z0-9-]{0,19}$")
    """The name of the deployment, which is part of all names."""
    region: str | None = Field(default=None, pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$")
    """The region to deploy to. Without it, that of the credentials."""
    account: str | None = Field(default=None, pattern=r"^[0-9]{12}$")
    """The account to deploy to. Without it, that of the credentials."""
    shards: Number = Field(default=4, ge=1, le=1024)
    """The partitions of a minute in the index, each for 1,000 writes a second."""
    shards_per_group: Number = Field(default=4, ge=1, le=1024)
    """The shards of one dispatcher."""
    lookahead: Number = Field(default=3, ge=1, le=10)
    """The buckets (minutes) before its fire time in which a run is sent to SQS."""
    worker_concurrency: Number = Field(
        default=100, ge=LEAST_CONCURRENCY * len(PRIORITIES), le=len(PRIORITIES) * MOST_CONCURRENCY
    )
    """The batches that Lambda workers run at the same time, over all priorities."""
    worker_weights: Annotated[tuple[Weight, Weight, Weight], parts("HIGH:MEDIUM:LOW, e.g. 6:3:1")] = (6, 3, 1)
    """The shares of the priorities in `worker_concurrency`."""
    long_concurrency: Number = Field(default=20, ge=LEAST_CONCURRENCY, le=MOST_CONCURRENCY)
    """The runs of the `long` pool that Lambda workers execute at the same time."""
    backlog_limit: Number = Field(default=50_000, ge=100, le=120_000)
    """The number of waiting messages of a queue above which no more runs are claimed for it."""
    # The tombstone of a deleted job lives 14 days. A shorter history would forget a key that is still promised.
    history_days: Number = Field(default=30, ge=14, le=3650)
    """The days that ended runs and their results are kept."""
    log_retention_days: Number = 30
    """The days that logs are kept: 1, 3, 7, 14, 30, 60, 90, 180 or 365."""
    api_rate: Number = Field(default=200, ge=1, le=10_000)
    """The requests a second that the API accepts."""
    api_burst: Number = Field(default=400, ge=1, le=10_000)
    """The requests at one moment that the API accepts."""
    domain_name: DomainName | None = None
    """The domain of the API. Without it, the API has the URL that API Gateway gives it."""
    certificate_arn: Certificate | None = None
    """The certificate of the domain, in the region of the stage."""
    base_path: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")
    """The path of the API on its domain. Other APIs may have other paths there."""
    hosted_zone: Annotated[HostedZone, parts("ID:NAME, e.g. Z0123456789ABC:example.com")] | None = None
    """The zone that gets the record of the domain. Without it, the operator makes the record."""
    warm_throughput: Annotated[WarmThroughput, parts("READS:WRITES a second, e.g. 12000:40000")] | None = None
    """The request units a second that the table can take at once, as `READS:WRITES`. Without it, it grows on demand."""
    table_name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_.-]{3,255}$")
    """A table that `onthedot restore` has made. Without it, the stage uses its own."""
    table_stream_arn: str | None = Field(
        default=None, pattern=r"^arn:[a-z-]+:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[A-Za-z0-9_.-]+/stream/\S+$"
    )
    """The stream of that table."""
    pools: Annotated[StagePools, LISTED] = ()
    """The pools that the stage adds to the default pools, or changes."""
    backlog_per_task: Number = Field(default=10, ge=1, le=10_000)
    """The runs that may wait for each task of a Fargate pool before another task is started."""
    vpc_id: str | None = Field(default=None, pattern=r"^vpc-[0-9a-f]{8,17}$")
    """An existing network for the tasks on Fargate. Without it, they get their own."""
    vpc_subnets: Annotated[tuple[Subnet, ...], LISTED] = ()
    """The subnets of that network that lead to the internet."""
    lambda_functions: Annotated[tuple[Function, ...], LISTED] = ()
    """The names or ARNs of the functions that jobs may call, with `*` and `?`."""
    aws_calls: Annotated[tuple[Call, ...], LISTED] = ()
    """The other AWS calls that jobs may make."""
    bus_tenant: str = Field(default="default", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    """The tenant whose jobs receive the events of the stage's bus."""
    s3_event_buckets: Annotated[tuple[Bucket, ...], LISTED] = ()
    """The buckets whose uploads are events for that tenant's jobs. Each must have EventBridge notifications on."""
    alarm_email: str | None = Field(default=None, pattern=r"^[^@\s]+@[^@\s]+$")
    """The address that gets the alarms of the stage's topic. Its owner confirms the subscription once."""
    alarm_topic: str | None = Field(
        default=None, pattern=r"^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}$"
    )
    """The ARN of a topic that takes the place of the stage's own."""
    detailed_metrics: Flag = False
    """Whether metrics of runs also have the dimensions pool and priority. CloudWatch bills each combination."""
    xray: Flag = False
    """Whether the functions and the API send traces to X-Ray."""
    publish_all_changes: Flag = False
    """Whether every change of a job's or run's state is published, or ends only."""
    publish_results: Flag = False
    """Whether published events contain payloads and results."""
    canary: Flag = True
    """Whether a job of the stage itself fires each minute, to measure lateness."""
    local: Flag = False
    """For the local AWS: layers for this machine's interpreter, callbacks to loopback, nothing retained."""

    @field_validator("log_retention_days")
    @classmethod
    def _accepted_by_cloudwatch(cls, days: int) -> int:
        if days not in RETENTION:
            raise ValueError(f"must be one of {', '.join(map(str, RETENTION))}")
        return days

    @field_validator("bus_tenant")
    @classmethod
    def _not_reserved(cls, tenant: str) -> str:
        if tenant == RESERVED_TENANT:
            raise ValueError("is reserved for the stage's own jobs")
        return tenant

    @classmethod
    def from_context(cls, context: Mapping[str, Any]) -> Self:
        """Read the context. Raise BadContext with the key that is missing, unknown or out of range."""
        ours = {key: value for key, value in context.items() if _is_ours(key)}
        _refuse_unknown(ours, list(cls.model_fields))
        given = {key: value for key, value in ours.items() if value is not None}
        if "stage" not in given:
            raise BadContext("stage", None, "is required, e.g. -c stage=dev")
        config = checked(cls, given)
        if config.local:
            config = checked(cls, {**_LOCAL, **given})
        _check_together(config)
        return config

    @property
    def disposable(self) -> bool:
        """Whether the data may be deleted together with the stack."""
        return self.local or DISPOSABLE_STAGE.fullmatch(self.stage) is not None

    @property
    def shard_groups(self) -> int:
        """The tick messages a minute, each for one dispatcher."""
        return -(-self.shards // self.shards_per_group)

    @property
    def all_pools(self) -> tuple[Pool, ...]:
        return with_default_pools(self.pools)

    @property
    def allow_list(self) -> AllowList:
        """The list by which the API refuses and workers obey. Roles are granted by the same context values."""
        return AllowList(self.lambda_functions, tuple(call.allowed for call in self.aws_calls))

    @property
    def public_url(self) -> str:
        """The URL of the API on its domain, without a slash at the end. Empty without a domain."""
        path = f"/{self.base_path}" if self.base_path else ""
        return f"https://{self.domain_name}{path}" if self.domain_name else ""

    @property
    def bus_name(self) -> str:
        return f"onthedot-{self.stage}"

    def name(self, part: str) -> str:
        return f"onthedot-{self.stage}-{part}"

    def concurrency_by_priority(self) -> dict[Priority, int]:
        """Share out the total by weight. Each priority gets at least the minimum of SQS, so LOW always moves."""
        return dict(zip(PRIORITIES, share_out(self.worker_concurrency, self.worker_weights), strict=True))


def _is_ours(key: str) -> bool:
    # CDK's own keys have a prefix with a colon, a slash or an @.
    return _OURS.fullmatch(key) is not None and key not in _CDK_KEYS


def _refuse_unknown(ours: Mapping[str, Any], known: list[str]) -> None:
    for key in ours:
        if key not in known:
            near = difflib.get_close_matches(key.replace("-", "_"), known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the known values are {', '.join(known)}"
            raise BadContext(key, ours[key], f"is not a context value of onthedot; {hint}")


def _check_together(config: StageConfig) -> None:
    if config.api_burst < config.api_rate:
        raise BadContext("api_burst", config.api_burst, f"is less than api_rate={config.api_rate}")
    for priority, share in config.concurrency_by_priority().items():
        if share > MOST_CONCURRENCY:
            why = f"gives {priority} {share}; one event source takes at most {MOST_CONCURRENCY}"
            raise BadContext("worker_concurrency", config.worker_concurrency, why)
    if config.local and any(known.fargate for known in config.pools):
        raise BadContext("pools", [known.pool.name for known in config.pools], "the local AWS has no Fargate")
    _check_table(config)
    _check_domain(config)
    if config.alarm_topic is not None and config.alarm_email is not None:
        raise BadContext(
            "alarm_email",
            config.alarm_email,
            "cannot be combined with alarm_topic; subscribe the address to that topic",
        )
    if (config.vpc_id is None) != (not config.vpc_subnets):
        key = "vpc_subnets" if config.vpc_id is None else "vpc_id"
        raise BadContext(key, getattr(config, key), "give both vpc_id and vpc_subnets, or neither")


def _check_table(config: StageConfig) -> None:
    if (config.table_name is None) != (config.table_stream_arn is None):
        key = "table_stream_arn" if config.table_name is None else "table_name"
        raise BadContext(key, getattr(config, key), "give both table_name and table_stream_arn, or neither")
    if config.table_name is not None and not config.table_name.startswith(config.name("")):
        why = f"must begin with {config.name('')}, so that jobs' calls are denied on it too"
        raise BadContext("table_name", config.table_name, why)


def _check_domain(config: StageConfig) -> None:
    domain, certificate, zone = config.domain_name, config.certificate_arn, config.hosted_zone
    if (domain is None) != (certificate is None):
        key = "certificate_arn" if domain is None else "domain_name"
        raise BadContext(key, getattr(config, key), "give both domain_name and certificate_arn, or neither")
    for key in ("base_path", "hosted_zone"):
        if domain is None and getattr(config, key) is not None:
            raise BadContext(key, getattr(config, key), "needs domain_name and certificate_arn")
    if certificate and config.region and certificate.split(":")[3] != config.region:
        raise BadContext("certificate_arn", certificate, f"must be in {config.region}, the region of the stage")
    if zone and domain and not f".{domain}".endswith(f".{zone.name}"):
        raise BadContext("hosted_zone", ":".join(zone), f"does not contain {domain}")
