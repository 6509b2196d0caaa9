"""The composition root: the one module that knows which engine stands behind the ports."""

from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from onthedot import __version__
from onthedot.clock import SystemClock
from onthedot.domain.deployment import Deployment
from onthedot.domain.errors import Unavailable
from onthedot.domain.targets import allow_list
from onthedot.domain.workers.pools import pools_from_json
from onthedot.engines.aws.dynamodb.misc import DynamoLimitsStore, DynamoProgressStore, DynamoTokenStore
from onthedot.engines.aws.dynamodb.patterns import DynamoPatternStore
from onthedot.engines.aws.dynamodb.registry import DynamoSigningStore, DynamoWorkerRegistry
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.engines.aws.s3_blobs import S3_OPTIONS, S3Blobs
from onthedot.engines.aws.sqs.dead_events import SqsDeadEvents
from onthedot.engines.aws.sqs.queues import LONG_POLL_SECONDS, SqsRunQueues
from onthedot.engines.aws.sqs.ticks import SqsTickQueue
from onthedot.engines.limits_cache import CachedLimits
from onthedot.engines.signing_cache import CachedSigning
from onthedot.ports import Blobs, Engine, Performer
from onthedot.settings import (
    ApiSettings,
    AuditorSettings,
    AuthorizerSettings,
    DispatcherSettings,
    EventsSettings,
    PlannerSettings,
    PublisherSettings,
    StoreSettings,
    WorkerSettings,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

    from onthedot.engines.aws.eventbridge_bus import EventBridgeBus
    from onthedot.targets.router import TargetRouter
    from onthedot.worker.direct_source import DirectWorkSource

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
        return S3Blobs(client("s3", config=_CONFIG.merge(S3_OPTIONS)), self._bucket)

    def put(self, key: str, content: bytes) -> None:
        self._blobs.put(key, content)

    def get(self, key: str) -> bytes | None:
        return self._blobs.get(key)

    def link(self, key: str, seconds: int) -> str | None:
        return self._blobs.link(key, seconds)


class NoBlobs:
    """For parts that never touch a payload."""

    def put(self, key: str, content: bytes) -> None:  # noqa: ARG002
        raise Unavailable("this part stores no blobs")

    def get(self, key: str) -> bytes | None:  # noqa: ARG002
        raise Unavailable("this part reads no blobs")

    def link(self, key: str, seconds: int) -> str | None:  # noqa: ARG002
        raise Unavailable("this part shows no blobs")


def client(service: Any, **overrides: Any) -> Any:
    """A boto3 client; the endpoint comes from the environment (AWS_ENDPOINT_URL) where it is not AWS itself."""
    return boto3.client(service, **{"config": _CONFIG, **overrides})


def _engine(
    settings: StoreSettings, blobs: Blobs, *, dynamodb: "DynamoDBClient", sqs: Any = None, **queue_options: Any
) -> Engine:
    clock = SystemClock()
    cloudwatch = queue_options.pop("cloudwatch", None)
    return Engine(
        store=DynamoRunStore(dynamodb, settings.table, clock),
        queues=SqsRunQueues(sqs or client("sqs"), cloudwatch, settings.queue_urls, clock, **queue_options),
        blobs=blobs,
        clock=clock,
        deployment=_deployment(settings),
        limits=CachedLimits(DynamoLimitsStore(dynamodb, settings.table), clock),
        registry=DynamoWorkerRegistry(dynamodb, settings.table, clock),
        signing=CachedSigning(DynamoSigningStore(dynamodb, settings.table), clock),
        patterns=DynamoPatternStore(dynamodb, settings.table, clock),
    )


def _deployment(settings: StoreSettings) -> Deployment:
    allowed = settings.allow_list if isinstance(settings, ApiSettings | WorkerSettings) else {}
    return Deployment(
        settings.shards,
        settings.lookahead,
        settings.history_days,
        settings.backlog_limit,
        pools_from_json(settings.pools),
        allow_list.from_json(allowed),
    )


def api_engine(settings: ApiSettings) -> Engine:
    return _engine(settings, LazyBlobs(settings.blob_bucket), dynamodb=client("dynamodb"))


def events_engine(settings: EventsSettings) -> tuple[Engine, SqsDeadEvents]:
    sqs = client("sqs")
    engine = _engine(settings, LazyBlobs(settings.blob_bucket), dynamodb=client("dynamodb"), sqs=sqs)
    return engine, SqsDeadEvents(sqs, settings.dead_letters_url)


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


def publisher(settings: PublisherSettings) -> tuple["EventBridgeBus", SystemClock]:
    from onthedot.engines.aws.eventbridge_bus import EventBridgeBus  # noqa: PLC0415 - nobody else publishes

    clock = SystemClock()
    return EventBridgeBus(client("events"), settings.bus, clock), clock


def token_store(settings: AuthorizerSettings) -> DynamoTokenStore:
    return DynamoTokenStore(client("dynamodb"), settings.table)


def push_targets(settings: WorkerSettings, engine: Engine) -> "TargetRouter":
    """All that a Lambda worker performs. HTTP callbacks are the usual thing; the others are made when first called."""
    from onthedot.targets.http.caller import HttpCaller  # noqa: PLC0415 - the other functions call nobody
    from onthedot.targets.router import TargetRouter  # noqa: PLC0415 - as above
    from onthedot.worker import target_factories  # noqa: PLC0415 - as above

    private = settings.allow_private_targets
    http = HttpCaller(allow_private=private, clock=engine.clock)
    calling = {
        **target_factories.factories(target_factories.TargetOptions(allow_private=private), engine.clock),
        "http": lambda: http,
    }
    return TargetRouter({**calling, **target_factories.engine_factories(engine), **aws_factories(engine)})


def aws_factories(engine: Engine) -> dict[str, Callable[[], Performer]]:
    """Who calls functions and AWS, as far as the stage allows it."""

    def invoker() -> Performer:
        from onthedot.targets.aws.clients import make_client  # noqa: PLC0415 - made when first called
        from onthedot.targets.aws.lambda_invoker import LambdaInvoker  # noqa: PLC0415 - as above

        return LambdaInvoker(allow_list=engine.deployment.allow_list, make=partial(make_client, "lambda"))

    def caller() -> Performer:
        from onthedot.targets.aws.api import AwsCaller  # noqa: PLC0415 - as above
        from onthedot.targets.aws.clients import make_client  # noqa: PLC0415 - as above

        return AwsCaller(allow_list=engine.deployment.allow_list, make=make_client)

    return {"lambda": invoker, "aws": caller}


def direct_source(settings: WorkerSettings, pool: str) -> tuple["DirectWorkSource", Engine]:
    """Where a pull worker with AWS credentials works; every reply of AWS checks its clock."""
    from onthedot.worker.clock_check import ClockCheck  # noqa: PLC0415 - functions on Lambda need none of this
    from onthedot.worker.direct_source import DirectWorkSource  # noqa: PLC0415 - as above

    boto3.setup_default_session()
    clock = ClockCheck(SystemClock().now)
    clock.watch(boto3.DEFAULT_SESSION.events)  # type: ignore[union-attr]
    patient = client("sqs", config=_CONFIG.merge(Config(read_timeout=LONG_POLL_SECONDS + 5)))
    engine = _engine(
        settings,
        LazyBlobs(settings.blob_bucket),
        dynamodb=client("dynamodb"),
        sqs=patient,
        poll_seconds=LONG_POLL_SECONDS,
    )
    return DirectWorkSource(engine, pool, check=clock.check), engine
