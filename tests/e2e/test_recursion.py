"""Chains of functions through SQS: stopped after 16 invocations, except where the function says that it may loop."""

import json
from itertools import pairwise
from typing import Any

from tests.e2e.deployment import Deployment
from tests.e2e.functions import new_function, new_queue, new_role
from tests.e2e.homes import Api, Home, until
from tests.e2e.listener import Listener

HOPS = 20
MOST_HOPS = 16
SENDS_ON = """
import boto3, os
def handle(event, context):
    for record in event["Records"]:
        boto3.client("sqs").send_message(QueueUrl=os.environ["ON"], MessageBody=str(int(record["body"]) + 1))
"""


def test_a_chain_of_another_function_ends_in_the_dead_letter_queue(deployment: Deployment) -> None:
    """The local AWS stops loops. Otherwise the next test would show nothing."""
    name, sqs, lambda_ = "chain", deployment.client("sqs"), deployment.client("lambda")
    dead, dead_arn = new_queue(deployment.client, f"{name}-dead")
    redrive = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": 1})
    on, on_arn = new_queue(deployment.client, f"{name}-on", VisibilityTimeout="15", RedrivePolicy=redrive)
    ours: Any = lambda_.get_function(FunctionName="onthedot-local-worker")["Configuration"]
    new_function(
        deployment.client,
        name,
        SENDS_ON,
        new_role(deployment.client, name, f"arn:aws:sqs:*:*:{name}-*"),
        Timeout=15,  # also for the start on a busy machine
        Layers=[layer["Arn"] for layer in ours["Layers"]],
        Environment={"Variables": {"ON": on}},
    )
    source = lambda_.create_event_source_mapping(EventSourceArn=on_arn, FunctionName=name, BatchSize=1)
    sqs.send_message(QueueUrl=on, MessageBody="1")
    [message] = until(lambda: sqs.receive_message(QueueUrl=dead, WaitTimeSeconds=2).get("Messages"), 150)
    assert message["Body"] == str(MOST_HOPS + 1)
    lambda_.delete_event_source_mapping(UUID=source["UUID"])


def test_a_run_with_more_retries_than_that_succeeds_at_last(home: Home, api: Api, listener: Listener) -> None:
    """The worker whose attempt failed sends the next one to the queue that invokes the worker."""
    retry = {"max_retries": HOPS, "backoff_seconds": home.pace, "factor": 1, "jitter": False}
    job = api.submit(callback_url=f"{listener.url}/hops?fail={HOPS}", retry=retry, priority="HIGH")
    view = api.wait_for(job["job_id"], "SUCCEEDED", seconds=240)
    assert view["retry_count"] == HOPS
    arrivals = listener.at_path("/hops")
    assert [arrival.headers["x-onthedot-attempt"] for arrival in arrivals] == [str(n + 1) for n in range(HOPS + 1)]
    assert {arrival.headers["idempotency-key"] for arrival in arrivals} == {job["job_id"]}
    times = [arrival.at for arrival in arrivals]
    # The message of a chain that Lambda stopped stays hidden. The sweep sends the run again, a minute later.
    assert max(after - before for before, after in pairwise(times)) < 30_000
