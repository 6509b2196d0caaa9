"""Chains of functions through SQS: stopped after 16 invocations, except where the function says that it may loop."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.functions import new_function, new_queue, new_role
from tests.e2e.homes import Api, Home
from tests.e2e.listener import Listener

HOPS = 20
MOST_HOPS = 16
# Sends each message on to the queue that invokes it, with one more hop, and the last one to another queue.
SENDS_ON = """
import boto3, os
def handle(event, context):
    for record in event["Records"]:
        hop = int(record["body"])
        queue = os.environ["ON"] if hop < int(os.environ["HOPS"]) else os.environ["END"]
        boto3.client("sqs").send_message(QueueUrl=queue, MessageBody=str(hop + 1))
"""


@dataclass(frozen=True)
class Chain:
    """A function that sends each message on to its own queue."""

    deployment: Deployment
    name: str
    on: str
    dead: str
    end: str

    def start(self) -> None:
        self.deployment.client("sqs").send_message(QueueUrl=self.on, MessageBody="1")

    def first_message(self, queue: str, seconds: float = 150) -> str:
        sqs, deadline = self.deployment.client("sqs"), time.monotonic() + seconds
        while time.monotonic() < deadline:
            for message in sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=2).get("Messages", []):
                return str(message["Body"])
        raise AssertionError(f"no message in {queue} within {seconds} s")

    def messages(self, queue: str) -> int:
        attributes = self.deployment.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])
        return int(attributes["Attributes"]["ApproximateNumberOfMessages"])


@pytest.fixture(params=["Terminate", "Allow"])
def chain(deployment: Deployment, request: pytest.FixtureRequest) -> Iterator[tuple[str, Chain]]:
    name, lambda_ = f"chain-{request.param.lower()}", deployment.client("lambda")
    dead, dead_arn = new_queue(deployment.client, f"{name}-dead")
    end, _ = new_queue(deployment.client, f"{name}-end")
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
        Environment={"Variables": {"ON": on, "END": end, "HOPS": str(HOPS)}},
    )
    lambda_.put_function_recursion_config(FunctionName=name, RecursiveLoop=request.param)
    source = lambda_.create_event_source_mapping(EventSourceArn=on_arn, FunctionName=name, BatchSize=1)
    yield request.param, Chain(deployment, name, on, dead, end)
    lambda_.delete_event_source_mapping(UUID=source["UUID"])
    lambda_.delete_function(FunctionName=name)
    for url in (on, dead, end):
        deployment.client("sqs").delete_queue(QueueUrl=url)


def test_a_chain_ends_in_the_dead_letter_queue_unless_its_function_may_loop(chain: tuple[str, Chain]) -> None:
    loop, made = chain
    made.start()
    if loop == "Allow":
        assert made.first_message(made.end) == str(HOPS + 1)
        assert made.messages(made.dead) == 0
    else:
        assert made.first_message(made.dead) == str(MOST_HOPS + 1)
        assert made.messages(made.end) == 0


def test_a_run_with_more_retries_than_that_succeeds_at_last(home: Home, api: Api, listener: Listener) -> None:
    """The worker whose attempt failed sends the next one to the queue that invokes the worker."""
    retry = {"max_retries": HOPS, "backoff_seconds": home.pace, "factor": 1, "jitter": False}
    job = api.submit(callback_url=f"{listener.url}/hops?fail={HOPS}", retry=retry, priority="HIGH")
    view = api.wait_for(job["job_id"], "SUCCEEDED", seconds=240)
    assert view["retry_count"] == HOPS
    times = [arrival.at for arrival in listener.at_path("/hops")]
    assert len(times) == HOPS + 1
    # The message of a chain that Lambda stopped stays hidden. The sweep sends the run again, a minute later.
    assert max(after - before for before, after in pairwise(times)) < 30_000


def test_the_deployed_worker_and_dispatcher_may_loop_and_no_other_function(deployment: Deployment) -> None:
    lambda_ = deployment.client("lambda")
    pages = lambda_.get_paginator("list_functions").paginate()
    ours = [one["FunctionName"] for page in pages for one in page["Functions"]]
    loops = {
        name.removeprefix("onthedot-local-"): lambda_.get_function_recursion_config(FunctionName=name)["RecursiveLoop"]
        for name in ours
        if name.startswith("onthedot-local-")
    }
    assert {name for name, loop in loops.items() if loop == "Allow"} == {"worker", "dispatcher"}
