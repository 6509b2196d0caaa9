"""The composition root: the one module that knows which engine stands behind the ports."""

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from onthedot import __version__
from onthedot.adapters.dynamodb_misc import DynamoLimitsStore, DynamoProgressStore, DynamoTokenStore
from onthedot.adapters.dynamodb_store import DynamoRunStore
from onthedot.adapters.s3_blobs import S3Blobs
from onthedot.adapters.sqs_queues import SqsRunQueues, SqsTickQueue
from onthedot.clock import SystemClock
from onthedot.domain.errors import Unavailable
from onthedot.domain.lifecycle import Plan
from onthedot.limits_cache import CachedLimits
from onthedot.ports import Blobs, Engine
from onthedot.settings import (
    ApiSettings,
    AuditorSettings,
    AuthorizerSettings,
    DispatcherSettings,
    PlannerSettings,
    StoreSettings,
    WorkerSettings,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

# The user agent is given, since botocore would put it together anew for every request, at a fifth of their cost.
# Short time-outs and few retries inside a call: the callers' own bounded retries see the clock and the deadline.
_CONFIG = Config(
    user_agent=f"onthedot/{__version__}",
    connect_timeout=2,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=32,
    parameter_validation=False,
    tcp_keepalive=True,
)


class LazyBlobs:
    """S3 when it is first needed: its client takes a tenth of a cold start, and few payloads are large."""

    def __init__(self, bucket: str) -> None:
        self._bucket = bucket

    @cached_property
    def _blobs(self) -> S3Blobs:
        return S3Blobs(client("s3"), self._bucket)

    def put(self, key: str, content: bytes) -> None:
        self._blobs.put(key, content)

    def get(self, key: str) -> bytes | None:
        return self._blobs.get(key)


class NoBlobs:
    """For parts that never touch a payload."""

    def put(self, key: str, content: bytes) -> None:  # noqa: ARG002
        raise Unavailable("this part stores no blobs")

    def get(self, key: str) -> bytes | None:  # noqa: ARG002
        raise Unavailable("this part reads no blobs")


def client(service: Any, **overrides: Any) -> Any:
    """A boto3 client; the endpoint comes from the environment (AWS_ENDPOINT_URL) where it is not AWS itself."""
    return boto3.client(service, config=_CONFIG, **overrides)


def _engine(
    settings: StoreSettings, blobs: Blobs, *, dynamodb: "DynamoDBClient", sqs: Any = None, cloudwatch: Any = None
) -> Engine:
    clock = SystemClock()
    return Engine(
        store=DynamoRunStore(dynamodb, settings.table, clock),
        queues=SqsRunQueues(sqs or client("sqs"), cloudwatch, settings.queue_urls, clock),
        blobs=blobs,
        clock=clock,
        plan=Plan(settings.shards, settings.lookahead, settings.history_days, settings.backlog_limit),
        limits=CachedLimits(DynamoLimitsStore(dynamodb, settings.table), clock),
    )


def api_engine(settings: ApiSettings) -> Engine:
    return _engine(settings, LazyBlobs(settings.blob_bucket), dynamodb=client("dynamodb"))


def worker_engine(settings: WorkerSettings) -> Engine:
    return _engine(settings, LazyBlobs(settings.blob_bucket), dynamodb=client("dynamodb"))


def dispatcher_engine(settings: DispatcherSettings) -> tuple[Engine, DynamoProgressStore]:
    dynamodb = client("dynamodb")
    engine = _engine(settings, NoBlobs(), dynamodb=dynamodb, cloudwatch=cache(lambda: client("cloudwatch")))
    return engine, DynamoProgressStore(dynamodb, settings.table)


def auditor_engine(settings: AuditorSettings, **connection: Any) -> Engine:
    """`connection` is for those who are not on Lambda: the client's region, endpoint and keys."""
    dynamodb, sqs = client("dynamodb", **connection), client("sqs", **connection)
    return _engine(settings, NoBlobs(), dynamodb=dynamodb, sqs=sqs)


def limits_store(table: str, **connection: Any) -> DynamoLimitsStore:
    return DynamoLimitsStore(client("dynamodb", **connection), table)


def progress_store(table: str, **connection: Any) -> DynamoProgressStore:
    return DynamoProgressStore(client("dynamodb", **connection), table)


def tick_queue(settings: PlannerSettings | DispatcherSettings) -> SqsTickQueue:
    return SqsTickQueue(client("sqs"), settings.tick_queue_url, SystemClock())


def token_store(settings: AuthorizerSettings) -> DynamoTokenStore:
    return DynamoTokenStore(client("dynamodb"), settings.table)
