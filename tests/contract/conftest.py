"""One set of cases, two engines. Every fixture here hangs on `kit`, which is one engine after the other."""

from collections.abc import Callable, Iterator

import boto3
import pytest
from botocore.config import Config

from localstack.ministack_process import running_ministack
from onthedot.engines.aws.s3_blobs import S3_OPTIONS
from onthedot.engines.sqlite.database import Database
from onthedot.ports import (
    Blobs,
    Clock,
    Deadline,
    GateStore,
    LimitsStore,
    PatternStore,
    ProgressStore,
    RunQueues,
    RunStore,
    ShardStore,
    SigningStore,
    TickQueue,
    TokenStore,
    WorkerRegistry,
)
from tests.builders import VirtualClock
from tests.contract.kits.kit import Inbox, Kit, TickInbox
from tests.contract.kits.ministack_kit import Clients, MiniStackKit
from tests.contract.kits.sqlite_kit import SqliteKit


@pytest.fixture(scope="session")
def ministack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    with running_ministack(tmp_path_factory.mktemp("ministack")) as url:
        session = boto3.Session("test", "test", region_name="us-east-1")
        options = Config(max_pool_connections=32)
        yield Clients(
            session.client("dynamodb", endpoint_url=url, config=options),
            session.client("sqs", endpoint_url=url, config=options),
            session.client("s3", endpoint_url=url, config=options.merge(S3_OPTIONS)),
            session.client("cloudwatch", endpoint_url=url, config=options),
        )


@pytest.fixture(params=["sqlite", "ministack"])
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    if request.param == "ministack":
        yield MiniStackKit(request.getfixturevalue("ministack"))
        return
    clock = VirtualClock()
    with Database() as database:
        yield SqliteKit(database, clock)


@pytest.fixture
def clock(kit: Kit) -> Clock:
    return kit.clock


@pytest.fixture
def let_pass(kit: Kit) -> Callable[[float], None]:
    return kit.let_pass


@pytest.fixture
def soon(clock: Clock) -> Deadline:
    """A deadline that nothing here should need."""
    return Deadline.after(clock.now(), 30_000)


@pytest.fixture
def store(kit: Kit) -> RunStore:
    return kit.store()


@pytest.fixture
def progress(kit: Kit) -> ProgressStore:
    return kit.progress()


@pytest.fixture
def shards(kit: Kit) -> ShardStore:
    return kit.shards()


@pytest.fixture
def limits(kit: Kit) -> LimitsStore:
    return kit.limits()


@pytest.fixture
def gates(kit: Kit) -> GateStore:
    return kit.gates()


@pytest.fixture
def tokens(kit: Kit) -> TokenStore:
    return kit.tokens()


@pytest.fixture
def blobs(kit: Kit) -> Blobs:
    return kit.blobs()


@pytest.fixture
def registry(kit: Kit) -> WorkerRegistry:
    return kit.registry()


@pytest.fixture
def signing(kit: Kit) -> SigningStore:
    return kit.signing()


@pytest.fixture
def patterns(kit: Kit) -> PatternStore:
    return kit.patterns()


@pytest.fixture
def run_queues(kit: Kit) -> tuple[RunQueues, Inbox]:
    return kit.queues()


@pytest.fixture
def queues(run_queues: tuple[RunQueues, Inbox]) -> RunQueues:
    return run_queues[0]


@pytest.fixture
def inbox(run_queues: tuple[RunQueues, Inbox]) -> Inbox:
    return run_queues[1]


@pytest.fixture
def tick_queue(kit: Kit) -> tuple[TickQueue, TickInbox]:
    return kit.ticks()
