"""One set of cases, two engines, and two kinds of table for the aws engine.

Every fixture here hangs on `kit`, which is one lane after the other: `sqlite`, `ministack`, and `dynamodb`, which is
MiniStack with its tables in Amazon's DynamoDB Local. Items have one meaning in all lanes (`stores/test_items.py`), so
the tests of stores that are written once on them and need nothing else run on SQLite and on Amazon's own: those with
the mark `on_items`. Tests of queues and of runs have a lane `live` too: the queues of a server, and a store that
remembers live records.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import boto3
import pytest
from botocore.config import Config

from localstack.dynamodb_local import running_dynamodb
from localstack.ministack_process import running_ministack
from onthedot.core.pass_progress import ProgressStore
from onthedot.core.ports import Clock, Deadline, ListedBlobs, RunQueues, RunStore, TickQueue
from onthedot.core.shards import ShardStore
from onthedot.engine import Stores
from onthedot.engines.aws.client import CHOICE, LeanClient
from onthedot.engines.aws.s3_blobs import S3_OPTIONS
from onthedot.engines.sqlite.database import Database
from tests.builders import VirtualClock
from tests.contract.kits.kit import Inbox, Kit, TickInbox
from tests.contract.kits.live_kit import LiveKit
from tests.contract.kits.ministack_kit import Clients, LeanFirst, MiniStackKit
from tests.contract.kits.sqlite_kit import SqliteKit

OPTIONS = Config(max_pool_connections=32)
# These tests use the lean client, except where this variable is set as it is for the functions.
USES_BOTO3 = os.environ.get(CHOICE) == "boto3"
LANES = ("sqlite", "ministack", "dynamodb")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test of the engines in its lanes, and each test of the aws engine's table on both kinds of it."""
    if "kit" in metafunc.fixturenames:
        metafunc.parametrize("kit", _lanes_of(metafunc), indirect=True)
    if "clients" in metafunc.fixturenames:
        metafunc.parametrize("clients", LANES[1:], indirect=True)


def _lanes_of(metafunc: pytest.Metafunc) -> tuple[str, ...]:
    if metafunc.definition.path.parent.name == "queues":
        # A message in memory is never of another program, and a server has no queue of ticks.
        has_live = not {"garbage", "tick_queue"}.intersection(metafunc.fixturenames) and not any(
            mark.name == "stored_queues" for mark in metafunc.definition.iter_markers()
        )
        return (*LANES[:2], "live") if has_live else LANES[:2]
    if any(mark.name == "on_items" for mark in metafunc.definition.iter_markers()):
        return LANES[0], LANES[2]
    lanes = LANES[:2] if "blobs" in metafunc.fixturenames else LANES
    return (*lanes, "live") if metafunc.definition.path.parent.name == "runs" else lanes


def _client(service: Any, url: str, options: Config = OPTIONS) -> Any:
    session = boto3.Session("test", "test", region_name="us-east-1")
    made: Any = session.client(service, endpoint_url=url, config=options)
    if USES_BOTO3 or service not in ("dynamodb", "sqs"):
        return made
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    return LeanFirst(LeanClient(service, {"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": url, **keys}), made)


@pytest.fixture(scope="session")
def ministack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    with running_ministack(tmp_path_factory.mktemp("ministack")) as url:
        s3 = _client("s3", url, OPTIONS.merge(Config(**S3_OPTIONS)))
        yield Clients(_client("dynamodb", url), _client("sqs", url), s3, _client("cloudwatch", url))


@pytest.fixture(scope="session")
def dynamodb(ministack: Clients, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    with running_dynamodb(tmp_path_factory.mktemp("dynamodb")) as url:
        yield replace(ministack, dynamodb=_client("dynamodb", url))


@pytest.fixture
def clients(request: pytest.FixtureRequest) -> Clients:
    """The clients of the aws engine, with one kind of table after the other."""
    found: Clients = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    if request.param not in ("sqlite", "live"):
        yield MiniStackKit(request.getfixturevalue(request.param))
        return
    with Database() as database:
        yield (LiveKit if request.param == "live" else SqliteKit)(database, VirtualClock())


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


def _fixture(name: str) -> Any:
    return pytest.fixture(name=name)(lambda kit: getattr(kit.stores, name))


# A fixture for each store of a feature, by the name that it has in the engine.
globals().update({f"the_{one.name}": _fixture(one.name) for one in fields(Stores)})


@pytest.fixture
def blobs(kit: Kit) -> ListedBlobs:
    return kit.blobs()


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
