"""Targets on AWS of a server: called with its own credentials, and only as its allow-list says."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.homes import Api
from tests.e2e.listener import Listener, listening
from tests.served import a_server

ALLOWED = {"functions": ["report-*"], "calls": ["sqs:SendMessage"]}


@pytest.fixture
def aws() -> Iterator[Listener]:
    """A listener in the place of AWS."""
    with listening() as made:
        yield made


def test_allowed_functions_and_calls_are_made_and_others_refused(tmp_path: Path, aws: Listener) -> None:
    allowed = tmp_path / "allowed.json"
    allowed.write_text(json.dumps(ALLOWED))
    credentials = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
    with a_server(tmp_path, "--allow", str(allowed), AWS_ENDPOINT_URL=aws.url, **credentials) as server:
        api = Api(server.url, server.token, 0.02)
        job = api.submit(target={"type": "lambda", "function": "report-daily"}, payload={"n": 1})
        [call] = aws.wait_for("/2015-03-31/functions/report-daily/invocations")
        assert call.payload == {"n": 1}
        api.wait_for(job["job_id"], "SUCCEEDED")
        message = {"QueueUrl": f"{aws.url}/queue", "MessageBody": "x"}
        api.submit(target={"type": "aws", "service": "sqs", "action": "SendMessage"}, payload=message)
        aws.wait_for("/")
        for target, field in (
            ({"type": "lambda", "function": "secrets"}, "target.function"),
            ({"type": "aws", "service": "sqs", "action": "DeleteQueue"}, "target.action"),
        ):
            status, answer = api.call("POST", "/v1/jobs", {"target": target})
            assert (status, [one["field"] for one in answer["error"]["details"]]) == (422, [field])


def test_without_an_allow_list_a_server_calls_nothing_on_aws(tmp_path: Path) -> None:
    with a_server(tmp_path) as server:
        status, answer = Api(server.url, server.token, 0.02).call(
            "POST", "/v1/jobs", {"target": {"type": "lambda", "function": "report-daily"}}
        )
    assert (status, [one["field"] for one in answer["error"]["details"]]) == (422, ["target.function"])
