"""The local stream: what PartiQL writes is in it. In a process of its own, since MiniStack is adjusted for good."""

import json
import subprocess
import sys
from typing import Any

from localstack.home import ROOT
from localstack.streams import with_window

WRITES = """
import json
from importlib import import_module
from localstack.launcher import replace_value, with_parameters
from localstack.streams import adjust_streams
adjust_streams(with_parameters, replace_value)
dynamodb = import_module("ministack.services.dynamodb")
keys = [("pk", "HASH"), ("sk", "RANGE")]
dynamodb._create_table({
    "TableName": "jobs", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": n, "AttributeType": "S"} for n, _ in keys],
    "KeySchema": [{"AttributeName": n, "KeyType": k} for n, k in keys],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
})
def run(statement, *parameters):
    status, _, body = dynamodb._batch_execute_statement(
        {"Statements": [{"Statement": statement, "Parameters": [{"S": p} for p in parameters]}]})
    assert status == 200, body
run("INSERT INTO \\"jobs\\" VALUE {'pk':?,'sk':?,'status':?}", "a", "job", "PENDING")
run("INSERT INTO \\"jobs\\" VALUE {'pk':?,'sk':?,'status':?}", "a", "job", "TWICE")
run('UPDATE "jobs" SET "status"=? WHERE "pk"=? AND "sk"=? AND "status"=?', "DISPATCHED", "a", "job", "PENDING")
run('UPDATE "jobs" SET "status"=? WHERE "pk"=? AND "sk"=? AND "status"=?', "REFUSED", "a", "job", "PENDING")
dynamodb._put_item({"TableName": "jobs", "Item": {"pk": {"S": "b"}, "sk": {"S": "job"}, "status": {"S": "PUT"}}})
print(json.dumps([
    [r["eventName"], *(r["dynamodb"].get(i, {}).get("status", {}).get("S") for i in ("OldImage", "NewImage"))]
    for r in dynamodb.stream_live_records("jobs")
]))
"""


def test_each_write_is_in_the_stream_once_and_a_refused_one_is_not() -> None:
    done = subprocess.run([sys.executable, "-c", WRITES], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [
        ["INSERT", None, "PENDING"],
        ["MODIFY", "PENDING", "DISPATCHED"],
        ["INSERT", None, "PUT"],
    ]


def test_a_batch_of_a_stream_names_its_shard_and_other_events_stay_as_they_are() -> None:
    batch = {"Records": [{"eventSource": "aws:dynamodb", "dynamodb": {}}]}
    found = with_window(batch)
    assert found["Records"] == batch["Records"]
    assert found["shardId"].startswith("shardId-")
    assert (found["state"], found["isFinalInvokeForWindow"]) == ({}, False)
    others: tuple[Any, ...] = ({"Records": []}, {"Records": [{"eventSource": "aws:sqs"}]}, {"path": "/"}, None)
    for other in others:
        assert with_window(other) is other
