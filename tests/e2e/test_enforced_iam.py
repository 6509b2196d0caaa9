"""IAM as AWS enforces it, on the deployed stack: what roles and jobs cannot do, beside what they can."""

import json
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from localstack.home import ACCOUNT, REGION, STAGE
from tests.e2e.deployment import Deployment
from tests.e2e.homes import Api
from tests.e2e.test_targets import ONCE, ended, error_class

TOKEN = {"pk": {"S": "token#e2e"}, "sk": {"S": "-"}}
LISTED = {"pk": {"S": "tokens"}, "sk": {"S": "e2e"}}
OTHER = {"pk": {"S": "e2e-iam"}, "sk": {"S": "-"}}
DENIED = {"AccessDenied", "AccessDeniedException"}


def clients_of(deployment: Deployment, role_arn: str) -> Callable[[Any], Any]:
    """Makes clients with the credentials of a role, as its function has them."""
    sts = deployment.client("sts")
    given = sts.assume_role(RoleArn=role_arn, RoleSessionName="e2e")["Credentials"]
    return lambda service: boto3.client(
        service,
        endpoint_url=deployment.stack.endpoint_url,
        region_name=REGION,
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
    )


def function_role(deployment: Deployment, name: str) -> str:
    function = deployment.client("lambda").get_function(FunctionName=f"onthedot-{STAGE}-{name}")
    return str(function["Configuration"]["Role"])


def calls_role() -> str:
    return f"arn:aws:iam::{ACCOUNT}:role/onthedot-{STAGE}-calls-{REGION}"


def outcome(call: Callable[[], Any]) -> str:
    """The code of the error with which a call is refused, or `done`."""
    try:
        call()
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return "done"


@pytest.fixture(scope="module")
def items(deployment: Deployment) -> Iterator[None]:
    """Items that look like a token and its entry in the list of tokens, and one that does not."""
    table = deployment.client("dynamodb")
    for item in (TOKEN, LISTED, OTHER):
        table.put_item(TableName=deployment.stack.table, Item={**item, "note": {"S": "of a test"}})
    yield
    for item in (TOKEN, LISTED, OTHER):
        table.delete_item(TableName=deployment.stack.table, Key=item)


def reads(dynamodb: Any, table: str, item: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    return {
        "GetItem": lambda: dynamodb.get_item(TableName=table, Key=item),
        "BatchGetItem": lambda: dynamodb.batch_get_item(RequestItems={table: {"Keys": [item]}}),
    }


def writes(dynamodb: Any, table: str, item: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    note = {"UpdateExpression": "SET note = :n", "ExpressionAttributeValues": {":n": {"S": "changed"}}}
    fresh = {**item, "sk": {"S": str(uuid.uuid4())}}
    update = {
        "Statement": f'UPDATE "{table}" SET "note"=? WHERE "pk"=? AND "sk"=?',
        "Parameters": [{"S": "changed"}, item["pk"], item["sk"]],
    }
    insert = {
        "Statement": f"INSERT INTO \"{table}\" VALUE {{'pk':?,'sk':?}}",
        "Parameters": [fresh["pk"], fresh["sk"]],
    }
    return {
        "UpdateItem": lambda: dynamodb.update_item(TableName=table, Key=item, **note),
        "TransactWriteItems": lambda: dynamodb.transact_write_items(
            TransactItems=[{"Update": {"TableName": table, "Key": item, **note}}]
        ),
        "PartiQLUpdate": lambda: dynamodb.batch_execute_statement(Statements=[update]),
        "PartiQLInsert": lambda: dynamodb.batch_execute_statement(Statements=[insert]),
    }


@pytest.mark.usefixtures("items")
def test_a_worker_can_neither_read_nor_write_a_token_but_any_other_record(deployment: Deployment) -> None:
    dynamodb = clients_of(deployment, function_role(deployment, "worker"))("dynamodb")
    for item, expected in ((TOKEN, DENIED), (LISTED, DENIED), (OTHER, {"done"})):
        calls = {**reads(dynamodb, deployment.stack.table, item), **writes(dynamodb, deployment.stack.table, item)}
        found = {name: outcome(call) for name, call in calls.items()}
        assert set(found.values()) <= expected, (item, found)


@pytest.mark.usefixtures("items")
def test_the_authorizer_reads_tokens_and_nothing_else_and_the_planner_writes_nothing(deployment: Deployment) -> None:
    dynamodb = clients_of(deployment, function_role(deployment, "authorizer"))("dynamodb")
    table = deployment.stack.table
    assert outcome(reads(dynamodb, table, TOKEN)["GetItem"]) == "done"
    for item in (LISTED, OTHER):
        assert outcome(reads(dynamodb, table, item)["GetItem"]) in DENIED
    for name in ("authorizer", "planner"):
        dynamodb = clients_of(deployment, function_role(deployment, name))("dynamodb")
        for item in (TOKEN, LISTED, OTHER):
            found = {each: outcome(call) for each, call in writes(dynamodb, table, item).items()}
            assert set(found.values()) <= DENIED, (name, item, found)


def our_own(deployment: Deployment) -> dict[str, dict[str, Any]]:
    """Calls that the allow-list of the local stage has on `*`, made on onthedot's own resources."""
    table, queue = deployment.stack.table, deployment.stack.queues["default-high"]
    entry = {"Source": "onthedot", "DetailType": "x", "Detail": "{}", "EventBusName": deployment.stack.bus}
    blobs = deployment.client("cloudformation").describe_stacks(StackName=f"onthedot-{STAGE}-data")
    [bucket] = [o["OutputValue"] for o in blobs["Stacks"][0]["Outputs"] if o["OutputKey"] == "BlobBucketName"]
    calls: dict[tuple[str, str], dict[str, Any]] = {
        ("dynamodb", "GetItem"): {"TableName": table, "Key": OTHER},
        ("dynamodb", "PutItem"): {"TableName": table, "Item": TOKEN},
        ("dynamodb", "UpdateItem"): {"TableName": table, "Key": OTHER},
        ("sqs", "SendMessage"): {"QueueUrl": queue, "MessageBody": "{}"},
        ("sqs", "ReceiveMessage"): {"QueueUrl": queue},
        ("events", "PutEvents"): {"Entries": [entry]},
        ("s3", "PutObject"): {"Bucket": bucket, "Key": "results/x", "Body": "x"},
        ("s3", "GetObject"): {"Bucket": bucket, "Key": "results/x"},
    }
    return {
        f"{service}:{action}": {"type": "aws", "service": service, "action": action, "input": given}
        for (service, action), given in calls.items()
    } | {"lambda": {"type": "lambda", "function": f"onthedot-{STAGE}-api"}}


@pytest.mark.usefixtures("items")
def test_no_job_reaches_what_is_ours_although_the_allow_list_says_everything(api: Api, deployment: Deployment) -> None:
    targets = our_own(deployment)
    jobs = {name: api.submit(target=target, retry=ONCE, payload={}) for name, target in targets.items()}
    found = {}
    for name, job in jobs.items():
        api.wait_for(job["job_id"], "FAILED")
        view = api.execution(job["job_id"])
        found[name] = error_class(view)
        assert "calls-" in view["error"], (name, "the role of jobs' calls was refused", view["error"])
    assert set(found.values()) <= DENIED, found
    assert set(found) == set(targets)


def test_a_job_calls_what_the_list_allows_with_the_role_of_jobs(api: Api, deployment: Deployment) -> None:
    queue = deployment.client("sqs").create_queue(QueueName=f"e2e-calls-role-{uuid.uuid4()}")["QueueUrl"]
    call = {"QueueUrl": queue, "MessageBody": "by the role"}
    run = ended(api, "SUCCEEDED", target={"type": "aws", "service": "sqs", "action": "SendMessage", "input": call})
    received = deployment.client("sqs").receive_message(QueueUrl=queue)["Messages"][0]
    assert received["MessageId"] == json.loads(run["result"])["MessageId"]


def test_the_worker_itself_may_not_make_the_calls_of_jobs(deployment: Deployment) -> None:
    queue = deployment.client("sqs").create_queue(QueueName="e2e-not-the-workers")["QueueUrl"]
    worker = clients_of(deployment, function_role(deployment, "worker"))
    assert outcome(lambda: worker("sqs").send_message(QueueUrl=queue, MessageBody="x")) in DENIED
    assert outcome(lambda: worker("sts").assume_role(RoleArn=calls_role(), RoleSessionName="e2e")) == "done"
    for name in ("api", "dispatcher", "authorizer", "publisher", "statistics", "events"):
        other = clients_of(deployment, function_role(deployment, name))("sts")
        assuming = partial(other.assume_role, RoleArn=calls_role(), RoleSessionName="e2e")
        assert outcome(assuming) in DENIED, name
