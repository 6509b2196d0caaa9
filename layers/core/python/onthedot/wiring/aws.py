"""The clients of AWS, and the engine or the single port that each Lambda function needs.

Each function below imports its stores when it is called: the planner, the authorizer and the publisher need one port
or two, and their cold start does not pay for the rest.
"""

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from onthedot import __version__
from onthedot.core.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from onthedot.access.tenant_data import TenantData
    from onthedot.access.token_store import TokenStore
    from onthedot.core.pass_progress import ProgressStore
    from onthedot.core.ports import Clock, DueIndex, Observer
    from onthedot.core.shards import ShardStore
    from onthedot.engine import Engine
    from onthedot.engines.aws.dynamodb.items import DynamoItems
    from onthedot.engines.aws.eventbridge_bus import EventBridgeBus
    from onthedot.engines.aws.s3_blobs import S3Blobs
    from onthedot.engines.aws.sqs.dead_letters import SqsDeadEvents, SqsDeadLetters
    from onthedot.engines.aws.sqs.ticks import SqsTickQueue
    from onthedot.settings import (
        ApiSettings,
        AuditorSettings,
        DispatcherSettings,
        EventsSettings,
        PlannerSettings,
        PublisherSettings,
        StatisticsSettings,
        StoreSettings,
        WorkerSettings,
    )
    from onthedot.statistics.store import StatisticsWriter
    from onthedot.workers.registry import WorkerRegistry

AWS_ERRORS: Final = (BotoCoreError, ClientError)
"""Every error that a call of AWS raises, for a command that reports them to its user."""

# botocore would build the user agent again for every request, at a fifth of the request's cost.
# Timeouts are short and retries are few, because the callers repeat calls themselves and see the clock and deadline.
CONFIG: Final = Config(
    user_agent=f"onthedot/{__version__}",
    connect_timeout=2,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=32,
    parameter_validation=False,
    tcp_keepalive=True,
)


_observers: "list[Observer]" = []


def observe_clients(observer: "Observer") -> None:
    """Count the calls that AWS throttles of all clients that this process makes from now on."""
    _observers[:] = [observer]


def client(service: Any, **overrides: Any) -> Any:
    """Make a boto3 client. AWS_ENDPOINT_URL in the environment names an endpoint that is not AWS itself."""
    made = boto3.client(service, **{"config": CONFIG, **overrides})
    for observer in _observers:
        from onthedot.engines.aws.throttling import count_throttling  # noqa: PLC0415 - see the module's docstring

        count_throttling(made, observer)
    return made


def default_region() -> str | None:
    """Return the region of clients that are made without one: that of the environment or of the profile."""
    return boto3.session.Session().region_name


def engine_of(settings: "StoreSettings", *, dynamodb: Any = None, sqs: Any = None, **options: Any) -> "Engine":
    """Return the engine for these settings. It makes the clients that the caller does not pass."""
    from onthedot.core.slots import queue_urls  # noqa: PLC0415 - see the module's docstring
    from onthedot.wiring.aws_engine import aws_engine, deployment_of  # noqa: PLC0415 - as above

    deployment = deployment_of(settings)
    return aws_engine(
        dynamodb or client("dynamodb"),
        sqs or client("sqs"),
        settings.table,
        queue_urls(settings.queue_base, deployment.pools.all),
        clock=SystemClock(),
        deployment=deployment,
        stage_name=settings.stage,
        **options,
    )


def blobs_in(bucket: str) -> "S3Blobs":
    from onthedot.engines.aws.s3_blobs import S3_OPTIONS, S3Blobs  # noqa: PLC0415 - as above

    return S3Blobs(lambda: client("s3", config=CONFIG.merge(S3_OPTIONS)), bucket)


def api_engine(settings: "ApiSettings") -> "Engine":
    return engine_of(settings, blobs=blobs_in(settings.blob_bucket), cloudwatch=cache(lambda: client("cloudwatch")))


def worker_engine(settings: "WorkerSettings") -> "Engine":
    return engine_of(settings, blobs=blobs_in(settings.blob_bucket))


def events_engine(settings: "EventsSettings") -> "tuple[Engine, SqsDeadEvents]":
    from onthedot.engines.aws.sqs.dead_letters import QUEUE, SqsDeadEvents  # noqa: PLC0415 - as above

    sqs = client("sqs")
    engine = engine_of(settings, sqs=sqs, blobs=blobs_in(settings.blob_bucket))
    return engine, SqsDeadEvents(sqs, settings.queue_base + QUEUE)


def items_of(table: str, **connection: Any) -> "DynamoItems":
    """Return the items of a table. A command passes the region, the endpoint and the keys as `connection`."""
    from onthedot.engines.aws.dynamodb.items import DynamoItems  # noqa: PLC0415 - as above

    return DynamoItems(client("dynamodb", **connection), table, SystemClock())


def dispatcher_engine(settings: "DispatcherSettings") -> "tuple[Engine, ProgressStore]":
    from onthedot.core.pass_progress import ProgressStore  # noqa: PLC0415 - as above
    from onthedot.engines.aws.dynamodb.items import DynamoItems  # noqa: PLC0415 - as above

    dynamodb = client("dynamodb")
    engine = engine_of(settings, dynamodb=dynamodb, cloudwatch=cache(lambda: client("cloudwatch")))
    return engine, ProgressStore(DynamoItems(dynamodb, settings.table, engine.clock))


def auditor_engine(settings: "AuditorSettings", **connection: Any) -> "Engine":
    """Return the auditor's engine. A command passes the region, the endpoint and the keys as `connection`."""
    dynamodb, sqs = client("dynamodb", **connection), client("sqs", **connection)
    return engine_of(settings, dynamodb=dynamodb, sqs=sqs)


def shard_store(table: str, **connection: Any) -> "ShardStore":
    from onthedot.core.shards import ShardStore  # noqa: PLC0415 - as above

    return ShardStore(items_of(table, **connection))


def due_index(table: str, **connection: Any) -> "DueIndex":
    from onthedot.engines.aws.dynamodb.store import DynamoRunStore  # noqa: PLC0415 - as above

    return DynamoRunStore(client("dynamodb", **connection), table, SystemClock())


def token_store(table: str, **connection: Any) -> "TokenStore":
    from onthedot.access.token_store import TokenStore  # noqa: PLC0415 - as above

    return TokenStore(items_of(table, **connection), SystemClock())


def restored_table(
    table: str, name: str, at: "datetime | None", clock: "Clock", on_wait: "Callable[[str], None]"
) -> tuple[str, str]:
    """Restore a table to a point in time as a new table, for a command. Return its name and the ARN of its stream."""
    from onthedot.engines.aws.dynamodb.restore import restore_table  # noqa: PLC0415 - as above

    restored = restore_table(client("dynamodb"), table, name, at, clock=clock, on_wait=on_wait)
    return restored.name, restored.stream_arn


def tenant_data(table: str, bucket: str) -> "TenantData":
    from onthedot.access.tenant_data import TenantData  # noqa: PLC0415 - as above

    return TenantData(items_of(table), blobs_in(bucket))


def tick_queue(settings: "PlannerSettings | DispatcherSettings") -> "SqsTickQueue":
    from onthedot.engines.aws.sqs.ticks import QUEUE, SqsTickQueue  # noqa: PLC0415 - as above

    return SqsTickQueue(client("sqs"), settings.queue_base + QUEUE, SystemClock())


def dead_letters(settings: "PlannerSettings") -> "SqsDeadLetters":
    from onthedot.engines.aws.sqs.dead_letters import SqsDeadLetters  # noqa: PLC0415 - as above

    return SqsDeadLetters(client("sqs"), [settings.queue_base + key for key in settings.dead_letters], SystemClock())


def worker_registry(table: str) -> "WorkerRegistry":
    from onthedot.workers.registry import WorkerRegistry  # noqa: PLC0415 - as above

    return WorkerRegistry(items_of(table))


def publisher(settings: "PublisherSettings") -> "tuple[EventBridgeBus, SystemClock]":
    from onthedot.engines.aws.eventbridge_bus import EventBridgeBus  # noqa: PLC0415 - as above

    clock = SystemClock()
    return EventBridgeBus(client("events"), settings.bus, clock), clock


def statistics_writer(settings: "StatisticsSettings") -> "tuple[StatisticsWriter, SystemClock]":
    from onthedot.statistics.store import StatisticsWriter  # noqa: PLC0415 - as above

    return StatisticsWriter(items_of(settings.table)), SystemClock()
