"""The AWS engine as one value, on given clients."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from onthedot.domain.deployment import Deployment
from onthedot.domain.targets import allow_list
from onthedot.domain.workers.pools import pools_from_text
from onthedot.engines.announcing import AnnouncingStore
from onthedot.engines.aws.dynamodb.gates import DynamoGateStore
from onthedot.engines.aws.dynamodb.limits import DynamoLimitsStore
from onthedot.engines.aws.dynamodb.patterns import DynamoPatternStore
from onthedot.engines.aws.dynamodb.progress import DynamoProgressStore
from onthedot.engines.aws.dynamodb.registry import DynamoSigningStore, DynamoWorkerRegistry
from onthedot.engines.aws.dynamodb.shards import DynamoShardStore
from onthedot.engines.aws.dynamodb.stage import known_stage
from onthedot.engines.aws.dynamodb.statistics import DynamoStatisticsStore
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.engines.aws.dynamodb.stored_entries import DynamoStoredEntries
from onthedot.engines.aws.dynamodb.tokens import DynamoTokenStore
from onthedot.engines.aws.s3_blobs import NoBlobs
from onthedot.engines.aws.sqs.queues import SHORT_POLL_SECONDS, SqsRunQueues
from onthedot.engines.caches import CachedGates, CachedLimits, CachedSigning
from onthedot.engines.freezing import FreezableStore
from onthedot.engines.grouped_gates import GroupedGates
from onthedot.ports import Blobs, Clock, Engine, Transfer
from onthedot.settings import ApiSettings, StoreSettings, WorkerSettings

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_sqs.client import SQSClient


def aws_engine(
    dynamodb: "DynamoDBClient",
    sqs: "SQSClient",
    table: str,
    queue_urls: Mapping[str, str],
    *,
    clock: Clock,
    deployment: Deployment,
    blobs: Blobs | None = None,
    cloudwatch: "Callable[[], CloudWatchClient] | None" = None,
    poll_seconds: int = SHORT_POLL_SECONDS,
    stage_name: str = "",
) -> Engine:
    """Return the engine on these clients. Without `blobs` it can neither store nor read a large payload."""
    shards = DynamoShardStore(dynamodb, table)
    store = AnnouncingStore(DynamoRunStore(dynamodb, table, clock), shards, clock, deployment.shards)
    stage = known_stage(dynamodb, table, clock)
    return Engine(
        store=FreezableStore(store, stage),
        queues=SqsRunQueues(sqs, cloudwatch, queue_urls, clock, poll_seconds=poll_seconds),
        blobs=blobs or NoBlobs(),
        clock=clock,
        deployment=deployment,
        limits=CachedLimits(DynamoLimitsStore(dynamodb, table), clock),
        registry=DynamoWorkerRegistry(dynamodb, table, clock),
        signing=CachedSigning(DynamoSigningStore(dynamodb, table), clock),
        patterns=DynamoPatternStore(dynamodb, table, clock),
        shards=shards,
        gates=CachedGates(GroupedGates(DynamoGateStore(dynamodb, table, clock)), clock),
        tokens=DynamoTokenStore(dynamodb, table, clock),
        tick_times=DynamoProgressStore(dynamodb, table),
        stage=stage,
        transfer=Transfer(DynamoStoredEntries(dynamodb, table), store),
        statistics=DynamoStatisticsStore(dynamodb, table),
        kind="aws",
        stage_name=stage_name,
    )


def deployment_of(settings: StoreSettings) -> Deployment:
    """Return the deployment that these settings describe."""
    allowed = settings.allow_list if isinstance(settings, ApiSettings | WorkerSettings) else {}
    return Deployment(
        settings.shards,
        settings.lookahead,
        settings.history_days,
        settings.backlog_limit,
        pools_from_text(settings.pools),
        allow_list.from_json(allowed),
    )
