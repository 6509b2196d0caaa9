"""The local AWS counts the hops of a chain through SQS. In a process of its own: MiniStack is adjusted for good."""

import json
import subprocess
import sys

import pytest

from localstack.home import ROOT
from localstack.recursion import highest, invoked_again, lineage_of, with_lineage

ROOT_ID = "Root=1-5f84c7a1-aaaaaaaaaaaaaaaaaaaaaaaa;Parent=bbbbbbbbbbbbbbbb;Sampled=0"
# One message after another: each invocation sends a message with its own trace header, as boto3 does.
CHAIN = """
import asyncio, json, os, sys
from importlib import import_module
from localstack.launcher import replace_value, with_parameters
from localstack.recursion import adjust_recursion
lambda_svc, sqs = import_module("ministack.services.lambda_svc"), import_module("ministack.services.sqs")
cloudformation = import_module("ministack.services.cloudformation.provisioners")
depths = []
def execute(func, event):
    header = lambda_svc._xray_trace_id_for_invocation(func["config"])
    depths.append(header)
    send = {"QueueUrl": url, "MessageBody": "on"}
    call = sqs.handle_request("POST", "/", {"x-amz-target": "AmazonSQS.SendMessage", "x-amzn-trace-id": header},
                              json.dumps(send).encode(), {})
    asyncio.run(call)
    return {"body": None}
lambda_svc._execute_function = execute
adjust_recursion(with_parameters, replace_value)
url = sqs._act_create_queue({"QueueName": "chain"}, "")["QueueUrl"]
props = {"FunctionName": "chain", "Code": {"ZipFile": "pass"}, **json.loads(sys.argv[1])}
make = cloudformation._RESOURCE_HANDLERS["AWS::Lambda::Function"]
make["create"]("Chain", {**props, "RecursiveLoop": "Terminate"}, "stack")
make["update"]("chain", props, props, "stack", "Chain")
arn = sqs._queues[url]["attributes"]["QueueArn"]
esm = {"UUID": "1", "FunctionName": "chain", "EventSourceArn": arn, "BatchSize": 10}
sqs._act_send_message({"QueueUrl": url, "MessageBody": "first"}, url)
lambda_svc._dispatch_esm_batch = lambda _, run, *arguments: run(*arguments)
lambda_svc._iter_all_esms = lambda: iter([(lambda_svc.get_account_id(), lambda_svc.get_region(), esm)])
while len(depths) < 40 and lambda_svc._poll_sqs() and esm["LastProcessingResult"] != "FAILED":
    pass
print(json.dumps([len(depths), len(sqs._queues[url]["messages"]), depths[0], depths[-1]]))
"""


def chain(**properties: str) -> tuple[int, int, str, str]:
    """How often the function ran, the messages that are left, and the first and the last trace header."""
    command = [sys.executable, "-c", CHAIN, json.dumps(properties)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    runs, left, first, last = json.loads(done.stdout)
    return runs, left, first, last


@pytest.mark.parametrize("properties", [{}, {"RecursiveLoop": "Terminate"}])
def test_a_chain_is_stopped_after_sixteen_invocations_and_its_message_stays(properties: dict[str, str]) -> None:
    runs, left, first, last = chain(**properties)
    assert (runs, left) == (16, 1)
    assert list(lineage_of(first).values()) == [1]
    assert list(lineage_of(last).values()) == [16]


def test_a_function_that_may_loop_goes_on() -> None:
    assert chain(RecursiveLoop="Allow")[0] == 40


def test_each_function_has_its_own_count_and_a_batch_the_highest() -> None:
    once = invoked_again({}, "one")
    assert lineage_of(with_lineage(ROOT_ID, invoked_again(once, "one"))) == dict.fromkeys(once, 2)
    both = highest([once, invoked_again(invoked_again({}, "one"), "two"), invoked_again(once, "one")])
    assert sorted(both.values()) == [1, 2]


@pytest.mark.parametrize("header", ["", ROOT_ID, "Self=1;Lineage="])
def test_a_message_that_no_function_sent_begins_a_chain(header: str) -> None:
    assert lineage_of(header) == {}
