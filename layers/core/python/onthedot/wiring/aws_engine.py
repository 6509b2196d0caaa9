"""The AWS engine as one value, on given clients."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from onthedot.core.pass_progress import ProgressStore
from onthedot.core.pools import pools_from_text
from onthedot.core.ports import Blobs, Clock
from onthedot.core.shards import ShardStore
from onthedot.core.slots import Deployment
from onthedot.engine import Engine, stores_on
from onthedot.engines.aws.dynamodb.items import DynamoItems
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.engines.aws.s3_blobs import NoBlobs
from onthedot.engines.aws.sqs.queues import SHORT_POLL_SECONDS, SqsRunQueues
from onthedot.engines.store_around import AnnouncingStore, FreezableStore
from onthedot.gates.grouped import GroupedGates
from onthedot.settings import ApiSettings, StoreSettings, WorkerSettings
from onthedot.targets import rules
from onthedot.transfer.stored_entries import StoredEntries, Transfer
from onthedot.wiring.points import FeaturePoints

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_sqs.client import SQSClient

STAGE_KNOWN_MS: Final = 5_000
STAGE_SETTLE_MS: Final = 90_000
"""No process that follows the previous state still writes: it is known for 30 s at most, a batch of moves is tried for
30 s at most, and its last call takes 20 s at most."""


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
    items = DynamoItems(dynamodb, table, clock)
    shards = ShardStore(items)
    store = AnnouncingStore(DynamoRunStore(dynamodb, table, clock), shards, clock, deployment.shards)
    stores = stores_on(
        items, clock, known_ms=STAGE_KNOWN_MS, settle_ms=STAGE_SETTLE_MS, remembers=True, gates=GroupedGates
    )
    return Engine(
        **stores.stores,
        points=FeaturePoints(),
        store=FreezableStore(store, stores.stage),
        queues=SqsRunQueues(sqs, cloudwatch, queue_urls, clock, poll_seconds=poll_seconds),
        blobs=blobs or NoBlobs(),
        clock=clock,
        deployment=deployment,
        shards=shards,
        tick_times=ProgressStore(items),
        transfer=Transfer(StoredEntries(items), store),
        kind="aws",
        stage_name=stage_name,
    )


def deployment_of(settings: StoreSettings) -> Deployment:
    allowed = settings.allow_list if isinstance(settings, ApiSettings | WorkerSettings) else {}
    return Deployment(
        settings.shards,
        settings.lookahead,
        settings.history_days,
        settings.backlog_limit,
        pools_from_text(settings.pools),
        rules.from_json(allowed),
    )
