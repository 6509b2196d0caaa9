"""Each handler imported afresh, with its settings, on moto. Nothing here claims anything: moto ignores conditions."""

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from localstack.table import table_arguments
from onthedot.core import schema
from onthedot.core.clock import SystemClock
from onthedot.core.pools import DEFAULT_POOLS, pools_to_text
from onthedot.core.schema import SHARDS_PARTITION
from onthedot.core.slots import queue_name
from onthedot.engines.aws.dynamodb.items import DynamoItems
from onthedot.engines.aws.sqs import ticks
from onthedot.settings import Settings, WorkerSettings
from onthedot.wiring import aws

FUNCTIONS = Path(__file__).parents[2] / "functions"
TABLE = "jobs"
BUCKET = "blobs"


class Context:
    """What Lambda passes to a handler."""

    aws_request_id = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@dataclass
class Cloud:
    queue_base: str

    @property
    def tick_url(self) -> str:
        return self.queue_base + ticks.QUEUE

    def client(self, service: Any) -> Any:
        return _client(service)

    @property
    def stored(self) -> DynamoItems:
        return DynamoItems(self.client("dynamodb"), TABLE, SystemClock())

    def messages(self, url: str) -> list[Any]:
        return list(self.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []))

    def items(self) -> list[Any]:
        """All items, without the number of shards that every writer announces."""
        found = self.client("dynamodb").scan(TableName=TABLE)["Items"]
        return [item for item in found if item["pk"]["S"] != SHARDS_PARTITION]

    @property
    def store_settings(self) -> dict[str, Any]:
        return {
            "stage": "test",
            "table": TABLE,
            "shards": 2,
            "lookahead": 3,
            "history_days": 30,
            "backlog_limit": 1000,
            "queue_base": self.queue_base,
            "pools": pools_to_text(DEFAULT_POOLS),
        }


@cache
def _client(service: Any) -> Any:
    return boto3.client(service)


@pytest.fixture(scope="package")
def _session() -> Iterator[None]:
    """One session for all clients: it reads the models of the services once, and that is most of a client's cost."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
        yield


@pytest.fixture
def cloud(_session: None) -> Iterator[Cloud]:
    with mock_aws(config={"core": {"reset_boto3_session": False}}):
        _client("dynamodb").create_table(**table_arguments(TABLE))
        _client("s3").create_bucket(Bucket=BUCKET)
        sqs = _client("sqs")
        for name in {queue_name(pool, priority) for pool in DEFAULT_POOLS for priority in schema.PRIORITIES}:
            sqs.create_queue(QueueName=f"test-{name}")
        ticks_url = sqs.create_queue(QueueName=f"test-{ticks.QUEUE}")["QueueUrl"]
        yield Cloud(ticks_url.removesuffix(ticks.QUEUE))


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Settings], ModuleType]:
    """The handler module of a function, as Lambda would import it with these settings."""

    def load_handler(function: str, settings: Settings) -> ModuleType:
        for name, value in settings.to_environment().items():
            monkeypatch.setenv(name, value)
        spec = importlib.util.spec_from_file_location(f"{function}_handler", FUNCTIONS / function / "handler.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module

    return load_handler


class Stacks:
    """The part of CloudFormation that the command asks. moto's own needs packages that are not installed."""

    def __init__(self, output: dict[str, str], name: str) -> None:
        self._output = output
        self._name = name

    def describe_stacks(self, StackName: str) -> Any:  # noqa: N803 - as boto3 calls it
        if StackName != self._name:
            raise ClientError({"Error": {"Code": "ValidationError", "Message": f"no {StackName}"}}, "DescribeStacks")
        return {"Stacks": [{"Outputs": [{"OutputKey": k, "OutputValue": v} for k, v in self._output.items()]}]}


def deploy(monkeypatch: pytest.MonkeyPatch, part: str = "workers", **output: str) -> None:
    """Make one stack of stage test, with this output."""
    client = aws.client
    stacks = Stacks(output, f"onthedot-test-{part}")
    monkeypatch.setattr(
        aws, "client", lambda service, **kw: stacks if service == "cloudformation" else client(service, **kw)
    )


@pytest.fixture
def stage(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage test, whose workers' stack tells its settings. Its limits are in force at once."""
    settings = WorkerSettings(**cloud.store_settings, blob_bucket=BUCKET, allow_list={})
    deploy(monkeypatch, WorkerEnvironment=json.dumps(settings.to_environment()))
    monkeypatch.setattr("onthedot.gates.manage.IN_FORCE_MS", 1)
