"""Four syntheses for the whole folder: each takes a second."""

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


PLACE = {"stage": "prod", "region": "eu-west-1", "account": "123456789012"}
PAGER = "arn:aws:sns:eu-west-1:123456789012:pager"


@pytest.fixture(scope="session")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    return synthesize(
        tmp_path_factory.mktemp("prod"),
        **PLACE,
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
        **PLACE,
        pools=json.dumps(FARGATE_POOLS),
        alarm_email="ops@example.com",
        lambda_functions="billing-*,report",
        aws_calls=[
            "sns:Publish on *",
            {"service": "sqs", "action": "SendMessage", "resources": ["arn:aws:sqs:*:*:inbox-*"]},
        ],
    )


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """A stage with values of its own wherever the others have defaults: network, domain, topic, image, events."""
    folder = tmp_path_factory.mktemp("other")
    (own := folder / "own").mkdir()
    (own / "Dockerfile").write_text("FROM onthedot-worker\nCOPY shop shop\n")
    pull, render = FARGATE_POOLS
    tasks = {"cpu": 512, "memory_mb": 1024, "app": "shop.jobs", "image": str(own)}
    shop = {"name": "shop", "capabilities": ["python"], "cpu": 0.5, "memory_mb": 800, "fargate": tasks}
    start = {"service": "stepfunctions", "action": "StartExecution", "iam_action": "states:StartExecution"}
    return synthesize(
        folder,
        **PLACE,
        pools=[pull, {**render, "capabilities": ["http"]}, shop],
        backlog_per_task="3",
        vpc_id="vpc-12345678",
        vpc_subnets="subnet-12345678,subnet-87654321",
        domain_name="jobs.example.com",
        certificate_arn="arn:aws:acm:eu-west-1:123456789012:certificate/1",
        base_path="sched",
        hosted_zone="Z0123456789ABC:example.com",
        alarm_topic=PAGER,
        detailed_metrics="true",
        canary="false",
        xray="true",
        lambda_functions="*",
        aws_calls=[
            "sns:Publish on *",
            {**start, "resources": ["arn:aws:states:eu-west-1:123456789012:stateMachine:o"]},
        ],
        publish_all_changes="true",
        publish_results="true",
        bus_tenant="acme",
    )
