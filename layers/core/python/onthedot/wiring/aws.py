"""The clients of AWS, and the engine or the single port that each Lambda function needs.

Each function below imports its stores when it is called: the planner, the authorizer and the publisher need one port
or two, and their cold start does not pay for the rest.
"""

import os
import threading
import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from onthedot.core.clock import SystemClock
from onthedot.core.errors import Unavailable
from onthedot.engines.aws.client import (
    ATTEMPTS,
    CONNECT_SECONDS,
    CONNECTIONS,
    READ_SECONDS,
    USER_AGENT,
    LeanClient,
    Watcher,
    is_usable,
)
from onthedot.engines.aws.errors import ErrorReply

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

# botocore would build the user agent again for every request, at a fifth of the request's cost.
OPTIONS: Final[Mapping[str, Any]] = {
    "user_agent": USER_AGENT,
    "connect_timeout": CONNECT_SECONDS,
    "read_timeout": READ_SECONDS,
    "retries": {"mode": "standard", "total_max_attempts": ATTEMPTS},
    "max_pool_connections": CONNECTIONS,
    "parameter_validation": False,
    "tcp_keepalive": True,
}
"""The options of boto3's clients."""
_watchers: list[Watcher] = []


def observe_clients(observer: "Observer", *watchers: Watcher) -> None:
    """Count the calls that AWS throttles of all clients that this process makes from now on, and show all replies."""
    from onthedot.engines.aws.throttling import throttle_counter  # noqa: PLC0415 - see the module's docstring

    _watchers[:] = [throttle_counter(observer), *watchers]


def client(service: Any, *, options: Mapping[str, Any] | None = None, **connection: Any) -> Any:
    """Make a client. AWS_ENDPOINT_URL in the environment names an endpoint that is not AWS itself.

    `options` are added to those of boto3's clients. A command passes the region, the endpoint and the keys as
    `connection`. boto3 is imported for a client of it only: it is most of a cold start.
    """
    if not options and not connection and is_usable(service, os.environ):
        return LeanClient(service, os.environ, tuple(_watchers))
    import boto3  # noqa: PLC0415 - as the docstring says
    from botocore.config import Config  # noqa: PLC0415 - as above

    made = boto3.client(service, config=Config(**{**OPTIONS, **(options or {})}), **connection)
    if _watchers:
        _watch(made, tuple(_watchers))
    return made


def _watch(made: Any, watchers: tuple[Watcher, ...]) -> None:
    """Show the replies to a boto3 client."""
    call = threading.local()

    def note_sending(**_: Any) -> None:
        call.sent_at = time.time_ns() // 1_000_000

    def note_reply(parsed: Mapping[str, Any], **_: Any) -> None:
        for watch in watchers:
            watch(getattr(call, "sent_at", 0), parsed)  # it is 0 where a test answers in place of the network

    made.meta.events.register("before-send", note_sending)
    made.meta.events.register("after-call", note_reply)


def aws_errors() -> tuple[type[Exception], ...]:
    """Return every error of a call of AWS or of a store on it, for a command that reports them to its user."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - commands use boto3

    return BotoCoreError, ClientError, ErrorReply, Unavailable


def default_region() -> str | None:
    """Return the region of clients that are made without one: that of the environment or of the profile."""
    import boto3  # noqa: PLC0415 - as above

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

    return S3Blobs(lambda: client("s3", options=S3_OPTIONS), bucket)


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
