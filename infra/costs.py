"""The cost of a stage, counted from its templates, from the calls of an idle minute, and from AWS's list prices.

`cost_page.py` shows it in `docs/costs.md`. `tests/infra/test_costs.py` counts the calls on the real code, and holds the
idle stage to its bounds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from onthedot.metrics import CHECK_EVERY

PRICES_OF: Final = "us-east-1 in 2026"
HOURS: Final = 730
MINUTES: Final = HOURS * 60
LONG_POLLS: Final = 5
"""Long polls that Lambda has open on each queue of an event source, also while the queue is empty."""
POLL_SECONDS: Final = 20
MOST_WITH_ALLOWANCES: Final = 3.0
MOST_WITHOUT: Final = 8.0
"""Most dollars a month of an idle stage, with the allowances that are always free, and without them."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a service's unit, and the units a month that are always free."""

    service: str
    unit: str
    usd: float
    free: float = 0


PRICES: Final = {
    "alarm": Price("CloudWatch", "alarm metric", 0.10, 10),
    "metric": Price("CloudWatch", "custom metric", 0.30, 10),
    "dashboard": Price("CloudWatch", "dashboard", 3.00, 3),
    "log_gb": Price("CloudWatch Logs", "GB ingested", 0.50, 5),
    "log_month": Price("CloudWatch Logs", "GB stored", 0.03, 5),
    "request": Price("Lambda", "request", 0.20e-6, 1e6),
    "gb_second": Price("Lambda", "GB-second (arm64)", 1.33334e-5, 400_000),
    "sqs": Price("SQS", "request", 0.40e-6, 1e6),
    "read": Price("DynamoDB", "read unit (on demand)", 0.125e-6),
    "write": Price("DynamoDB", "write unit (on demand)", 0.625e-6),
    "table_gb": Price("DynamoDB", "GB stored", 0.25, 25),
    "backup_gb": Price("DynamoDB", "GB of point-in-time recovery", 0.20),
    "schedule": Price("EventBridge Scheduler", "call", 1.00e-6, 14e6),
    "event": Price("EventBridge", "event published", 1.00e-6),
    "api": Price("API Gateway", "request (REST)", 3.50e-6),
    "kms": Price("KMS", "request", 3.00e-6, 20_000),
    "secret": Price("Secrets Manager", "secret", 0.40),
    "trace": Price("X-Ray", "trace", 5.00e-6, 100_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The parts of a stage that cost money, as its templates show them."""

    shards: int
    groups: int
    alarm_metrics: int
    dashboards: int
    sources: int
    """Event sources on queues."""
    dead_letter_queues: int
    secrets: int
    traced: bool
    memory_mb: Mapping[str, int]
    """The memory of each function."""


@dataclass(frozen=True, slots=True)
class IdleTick:
    """The calls of a tick in which nothing is due. The test counts them on the real code."""

    slots_of_a_shard: int = 18
    """Queries of the due index: 4 ahead, 7 behind for the sweep, 6 of the past, 1 far ahead."""
    other_queries: int = 1
    """The limits of the tenants."""
    aside_every: int = 5
    """Minutes between two looks at the aside slot of a shard."""
    deep_of_a_shard: int = 2
    """Queries a minute, on average, by which each slot of the day before is read a second time."""
    lease_writes: int = 1
    other_calls: int = 4
    """The lease of the tick, the progress of the shards read and written, and the state of the stage."""

    def queries(self, shards: int) -> float:
        return shards * (self.slots_of_a_shard + self.deep_of_a_shard + 1 / self.aside_every) + self.other_queries

    def reads(self, shards: int) -> float:
        """Return the read units. All but queries and the progress of the first shard are read consistently."""
        return self.queries(shards) / 2 + (shards - 1) + 1

    def writes(self, shards: int) -> int:
        return self.lease_writes + shards


@dataclass(frozen=True, slots=True)
class Run:
    """The units of one run. `tests/contract/runs/test_budget.py` counts the writes."""

    writes: float
    reads: float


RECURRING: Final = Run(writes=8, reads=4)
"""Stamp 2, advance 3, start 1, finish 2; reads: the job twice, its records, the run."""
ONE_OFF_FAR: Final = Run(writes=9, reads=2)
ONE_OFF_NEAR: Final = Run(writes=6, reads=2)


@dataclass(frozen=True, slots=True)
class Seconds:
    """Billed seconds. Calls of AWS take 5 ms each (assumed); CPU time is measured on the build machine."""

    call: float = 0.005
    planner: float = 0.03
    shard_cpu: float = 0.0375
    """A shard of an idle tick, which takes 40 CPU-ms for four of them at 0.29 of a CPU."""
    canary: float = 0.05
    batch: float = 0.35
    """A batch of ten runs whose targets answer within 0.2 s; 46 CPU-ms at 0.29 of a CPU."""
    single: float = 0.25
    """A batch of one run."""
    submit: float = 0.05
    publish: float = 0.05
    """A batch of changes of the stream."""
    window: float = 0.005
    count: float = 0.05
    """A batch of ends, for the statistics."""


TICK: Final = IdleTick()
SECONDS: Final = Seconds()
IDLE_METRICS: Final = ("lateness_ms", "succeeded", "sent")
"""The metrics that an idle stage writes: those of the canary and of the ticks."""
LOG_BYTES: Final = {"planner": 700, "dispatcher": 1300, "worker": 1500, "auditor": 700}
"""Bytes of a call in the log: Lambda's own three lines (about 400 with their headers), our line, a line of metrics."""
KEY_USERS: Final = ("planner", "dispatcher", "worker", "auditor")
"""The functions whose calls use the table's key on an idle stage."""
KEY_MINUTES: Final = 5
"""DynamoDB keeps the key for each caller, and asks for it after five minutes without a call (assumed: every five)."""
STREAM_SHARDS: Final = 4
WINDOWS_AN_HOUR: Final = 4
"""Shards of the stream of an idle table (assumed), and tumbling windows of each. Lambda may call the statistics
function at the end of each window, also without records (assumed: it does)."""
POOL_METRICS: Final = 17
"""Metrics of the alarms by which a Fargate pool is scaled."""
POOL_QUEUES: Final = 3
AUDITED_SLOTS: Final = 122
"""Slots of each shard that an audit reads."""
RUN_BYTES: Final = 800
RUN_DAYS: Final = 30


@dataclass(slots=True)
class Bill:
    """Amounts of units by the keys of `PRICES`, each with the reason."""

    amounts: dict[str, float] = field(default_factory=dict)
    why: dict[str, list[str]] = field(default_factory=dict)

    def add(self, key: str, amount: float, why: str) -> None:
        if amount:
            self.amounts[key] = self.amounts.get(key, 0) + amount
            self.why.setdefault(key, []).append(why)

    def usd(self, key: str, *, allowances: bool) -> float:
        price = PRICES[key]
        return max(0.0, self.amounts[key] - (price.free if allowances else 0)) * price.usd

    def total(self, *, allowances: bool) -> float:
        return sum(self.usd(key, allowances=allowances) for key in self.amounts)

    def by_service(self) -> dict[str, float]:
        """Return the dollars of each service, without allowances."""
        found: dict[str, float] = {}
        for key in self.amounts:
            service = PRICES[key].service
            found[service] = found.get(service, 0) + self.usd(key, allowances=False)
        return found


def idle(shape: Shape) -> Bill:
    """Return the bill of a month in which the canary runs each minute, and nothing else."""
    bill = Bill()
    bill.add("alarm", shape.alarm_metrics, f"{shape.alarm_metrics} alarms on one metric each")
    bill.add("metric", len(IDLE_METRICS), f"{', '.join(f'`{name}`' for name in IDLE_METRICS)}")
    bill.add("dashboard", shape.dashboards, "`onthedot-<stage>`, 50 metrics")
    bill.add("secret", shape.secrets, "token of shell workers on Fargate")
    _add_polls(bill, shape)
    _add_ticks(bill, shape)
    _add_audits(bill, shape)
    _add_canary(bill, shape)
    windows = HOURS * WINDOWS_AN_HOUR * STREAM_SHARDS
    _add_calls(bill, shape, "statistics", windows, SECONDS.window, "statistics at the end of each window")
    calls = len(KEY_USERS) * MINUTES / KEY_MINUTES
    bill.add("kms", calls, f"key `aws/dynamodb`: a call every {KEY_MINUTES} minutes for {', '.join(KEY_USERS)}")
    return bill


def _add_polls(bill: Bill, shape: Shape) -> None:
    polls = shape.sources * LONG_POLLS * HOURS * 3600 / POLL_SECONDS
    bill.add("sqs", polls, f"{shape.sources} event sources × {LONG_POLLS} long polls of {POLL_SECONDS} s")
    checks = shape.dead_letter_queues * MINUTES / CHECK_EVERY
    bill.add("sqs", checks, f"{shape.dead_letter_queues} dead-letter queues counted every {CHECK_EVERY} minutes")


def _add_ticks(bill: Bill, shape: Shape) -> None:
    shards = shape.shards / shape.groups
    ticks = MINUTES * shape.groups
    bill.add("schedule", MINUTES, "a tick each minute")
    _add_calls(bill, shape, "planner", MINUTES, SECONDS.planner, "planner each minute")
    bill.add("read", MINUTES, "planner: number of shards")
    seconds = (TICK.queries(round(shards)) + TICK.other_calls) * SECONDS.call + shards * SECONDS.shard_cpu
    _add_calls(bill, shape, "dispatcher", ticks, seconds, "dispatcher each tick")
    bill.add("sqs", MINUTES + 2 * ticks, "ticks sent, received, deleted")
    reads, writes = TICK.reads(round(shards)), TICK.writes(round(shards))
    bill.add("read", ticks * reads, f"{reads:g} for a tick of {shards:g} shards")
    bill.add("write", ticks * writes, f"{writes} for such a tick")


def _add_audits(bill: Bill, shape: Shape) -> None:
    slots = AUDITED_SLOTS * shape.shards
    bill.add("schedule", HOURS, "an audit each hour")
    _add_calls(bill, shape, "auditor", HOURS, slots * SECONDS.call, "auditor each hour")
    bill.add("read", HOURS * slots / 2, f"{slots} slots for an audit")


def _add_canary(bill: Bill, shape: Shape) -> None:
    _add_calls(bill, shape, "worker", MINUTES, SECONDS.canary, "canary each minute")
    bill.add("write", MINUTES * RECURRING.writes, f"{RECURRING.writes:g} for a run of the canary")
    bill.add("read", MINUTES * RECURRING.reads, f"{RECURRING.reads:g} for a run of the canary")
    bill.add("read", MINUTES, "the state of the stage, for a run of the canary")
    bill.add("sqs", MINUTES * 4, "the canary's queue asked for its length, the canary sent, received, deleted")
    stored = MINUTES * RUN_BYTES * RUN_DAYS * 24 / HOURS / 1e9 * 1.5
    bill.add("table_gb", stored, "runs of the canary for 30 days, with their index entries")
    bill.add("backup_gb", stored, "the same")


def _add_calls(  # noqa: PLR0917 - plain figures
    bill: Bill, shape: Shape, function: str, calls: float, seconds: float, why: str
) -> None:
    memory = shape.memory_mb[function]
    bill.add("request", calls, why)
    bill.add("gb_second", calls * seconds * memory / 1024, f"{why}: {seconds * 1000:.0f} ms at {memory} MB")
    if function in LOG_BYTES:
        bill.add("log_gb", calls * LOG_BYTES[function] / 1e9, f"{function}, {LOG_BYTES[function]} bytes a call")
        bill.add("log_month", calls * LOG_BYTES[function] / 1e9, f"{function}, 30 days")
    if shape.traced:
        bill.add("trace", calls, why)


@dataclass(frozen=True, slots=True)
class Load:
    """A kind of load: how its runs come, and how many of them share a call."""

    name: str
    assumption: str
    run: Run
    together: int
    """Runs of a message request and of a worker's call."""
    submitted: bool = True
    """Whether each run needs its own request to the API."""
    claimed: bool = True
    """Whether a dispatcher sends it, or the API at once."""


LOADS: Final = (
    Load("scattered, near", "each run alone, submitted within minutes of its time", ONE_OFF_NEAR, 1, claimed=False),
    Load("scattered, far", "each run alone, submitted long before its time", ONE_OFF_FAR, 1),
    Load("bunched, far", "ten or more runs of one second, submitted long before", ONE_OFF_FAR, 10),
    Load("recurring, bunched", "cron jobs, ten or more of them in one second", RECURRING, 10, submitted=False),
)


def per_million(load: Load, memory_mb: Mapping[str, int]) -> Bill:
    """Return the bill of a million runs on top of the idle stage, without allowances."""
    million, bill = 1e6, Bill()
    worker, batches = memory_mb["worker"] / 1024, million / load.together
    seconds = SECONDS.batch if load.together > 1 else SECONDS.single
    bill.add("write", million * load.run.writes, f"{load.run.writes:g} units")
    bill.add("read", million * load.run.reads, f"{load.run.reads:g} units")
    bill.add("sqs", 3 * batches, "send, receive, delete")
    bill.add("request", batches, "worker")
    bill.add("gb_second", batches * seconds * worker, f"worker: {seconds * 1000:.0f} ms")
    bill.add("log_gb", (batches * 900 + million * 350) / 1e9, "worker")
    if load.claimed:
        bill.add("gb_second", million * 0.0012 * memory_mb["dispatcher"] / 1024, "dispatcher: 1.2 ms")
    if load.submitted:
        bill.add("api", million, "POST /v1/jobs")
        bill.add("request", million, "API")
        bill.add("gb_second", million * SECONDS.submit * memory_mb["api"] / 1024, "API: 50 ms")
        bill.add("log_gb", million * 1200 / 1e9, "API, with its access log")
    changes = million / load.together
    bill.add("request", changes, "publisher")
    bill.add("gb_second", changes * SECONDS.publish * memory_mb["publisher"] / 1024, "publisher: 50 ms")
    bill.add("event", million, "one event for the end of each run")
    bill.add("log_gb", changes * 700 / 1e9, "publisher")
    _add_counting(bill, load, memory_mb)
    return bill


def _add_counting(bill: Bill, load: Load, memory_mb: Mapping[str, int]) -> None:
    """Add the counting of a million ends. Those of one batch, tenant and minute share a write."""
    batches = 1e6 / load.together
    bill.add("write", batches, f"{1 / load.together:g} for the statistics")
    bill.add("request", batches, "statistics")
    bill.add("gb_second", batches * SECONDS.count * memory_mb["statistics"] / 1024, "statistics: 50 ms")
    bill.add("log_gb", batches * 600 / 1e9, "statistics")


def shape_of(templates: Iterable[Mapping[str, Any]], shards: int, groups: int) -> Shape:
    resources = [resource for template in templates for resource in template["Resources"].values()]

    def of(kind: str) -> list[Mapping[str, Any]]:
        return [one.get("Properties", {}) for one in resources if one["Type"] == kind]

    functions = of("AWS::Lambda::Function")
    queues = [str(queue["QueueName"]) for queue in of("AWS::SQS::Queue")]
    return Shape(
        shards=shards,
        groups=groups,
        alarm_metrics=sum(_metrics_of(alarm) for alarm in of("AWS::CloudWatch::Alarm")),
        dashboards=len(of("AWS::CloudWatch::Dashboard")),
        sources=sum("ScalingConfig" in source for source in of("AWS::Lambda::EventSourceMapping")),
        dead_letter_queues=sum(name.endswith("-dlq") for name in queues),
        secrets=len(of("AWS::SecretsManager::Secret")),
        traced=any(one.get("TracingConfig", {}).get("Mode") == "Active" for one in functions),
        memory_mb={str(one["FunctionName"]).rsplit("-", 1)[-1]: one["MemorySize"] for one in functions},
    )


def _metrics_of(alarm: Mapping[str, Any]) -> int:
    """Return the metrics of an alarm. AWS bills each metric of an expression."""
    return sum("Expression" not in metric for metric in alarm.get("Metrics", [{}]))


def with_shards(shape: Shape, shards: int) -> Shape:
    """Return the shape of the stage with another number of shards, in groups of the same size."""
    return replace(shape, shards=shards, groups=-(-shards * shape.groups // shape.shards))


def with_fargate_pool(shape: Shape) -> Shape:
    """Return the shape of the stage with a Fargate pool: two alarms for its scaling, and queues of its own."""
    return replace(
        shape,
        alarm_metrics=shape.alarm_metrics + POOL_METRICS,
        dead_letter_queues=shape.dead_letter_queues + POOL_QUEUES,
    )
