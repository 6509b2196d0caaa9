"""Three syntheses for the whole folder: a stage to keep, the local one, and one with Fargate. Each takes seconds."""

import json

import pytest

from tests.infra.kit import Assembly, synthesize

# One pool for each kind of task: `pull` runs other people's programs, `render` works on the queues itself.
FARGATE_POOLS = [
    {
        "name": "pull",
        "capabilities": ["http", "shell"],
        "cpu": 1,
        "memory_mb": 1900,
        "fargate": {"cpu": 1024, "memory_mb": 2048, "max_tasks": 5, "shell": True},
    },
    {
        "name": "render",
        "capabilities": ["http", "aws", "lambda", "chromium"],
        "cpu": 0.5,
        "memory_mb": 896,
        "longest_seconds": 7200,
        "fargate": {"cpu": 512, "memory_mb": 1024, "concurrency": 2},
    },
]


@pytest.fixture(scope="session")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    return synthesize(
        tmp_path_factory.mktemp("prod"),
        stage="prod",
        region="eu-west-1",
        account="123456789012",
        shards="32",
        lookahead="2",
        worker_concurrency="50",
        warm_throughput="12000:40000",
        s3_event_buckets="shop-uploads,shop-exports",
    )


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    return synthesize(tmp_path_factory.mktemp("local"), stage="local", local="true")


@pytest.fixture(scope="session")
def fargate(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    return synthesize(
        tmp_path_factory.mktemp("fargate"),
        stage="prod",
        region="eu-west-1",
        account="123456789012",
        pools=json.dumps(FARGATE_POOLS),
        lambda_functions="billing-*,report",
        aws_calls=[
            "sns:Publish on *",
            {"service": "sqs", "action": "SendMessage", "resources": ["arn:aws:sqs:*:*:inbox-*"]},
        ],
    )
