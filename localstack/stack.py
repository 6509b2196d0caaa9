"""A deployed local stack: its names and URLs, its token, its warm functions, and `local.json`."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import urllib3

from localstack.cdk import client
from localstack.home import STAGE, Home, LocalStackError
from onthedot.access.ports import Principal
from onthedot.access.token_store import TokenStore
from onthedot.access.tokens import create_token
from onthedot.cli.deploying.cdk import api_url_of
from onthedot.core.clock import SystemClock
from onthedot.engines.aws.dynamodb.items import DynamoItems

LOCAL_USER = Principal(tenant="local", role="admin", name="make up")
API_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class LocalStack:
    """The content of `local.json`."""

    api_url: str
    token: str
    endpoint_url: str
    table: str
    queues: dict[str, str]
    bus: str
    console_url: str
    pid: int


def describe(home: Home, pid: int) -> LocalStack:
    """Return the stack that is deployed in this home, without a token.

    Raise LocalStackError when the deployed stacks lack a required output.
    """
    api_url = api_url_of(_outputs(home, "api"), home.endpoint_url)
    return LocalStack(
        api_url=api_url,
        token="",
        endpoint_url=home.endpoint_url,
        table=_outputs(home, "data")["TableName"],
        queues=_queues(home),
        bus=_outputs(home, "events")["BusName"],
        console_url=f"{api_url}/console",
        pid=pid,
    )


def _queues(home: Home) -> dict[str, str]:
    prefix = f"onthedot-{STAGE}-"
    urls = client(home, "sqs").list_queues(QueueNamePrefix=prefix).get("QueueUrls", [])
    return {url.rsplit("/", 1)[-1].removeprefix(prefix): url for url in urls}


class _Outputs(dict[str, str]):
    def __missing__(self, name: str) -> str:
        raise LocalStackError(f"the deployed stacks have no output {name}; run `make reset up` to start over")


def _outputs(home: Home, part: str) -> dict[str, str]:
    found = client(home, "cloudformation").describe_stacks(StackName=f"onthedot-{STAGE}-{part}")
    return _Outputs({o["OutputKey"]: o["OutputValue"] for o in found["Stacks"][0].get("Outputs", [])})


def wait_until_api_answers(stack: LocalStack) -> None:
    """Wait for the health check. Raise LocalStackError when it does not answer 200 in time."""
    deadline = time.monotonic() + API_SECONDS
    answer = "nothing"
    while time.monotonic() < deadline:
        with suppress(urllib3.exceptions.HTTPError):
            response = urllib3.request("GET", f"{stack.api_url}/v1/health", retries=False, timeout=30)
            if response.status == 200:
                return
            answer = f"{response.status} {response.data[:500].decode(errors='replace')}"
        time.sleep(0.2)
    raise LocalStackError(f"the API did not become healthy within {API_SECONDS:.0f} s; it answered {answer}")


def warm(home: Home) -> None:
    """Start all processes that the event sources may use, so that the first job does not wait for one.

    An empty batch gives a worker, a dispatcher and the publisher nothing to do. Calls at the same moment get one
    process each, as on AWS.
    """
    functions = client(home, "lambda")
    mappings = functions.list_event_source_mappings()["EventSourceMappings"]
    consumers = [arn for mapping in mappings for arn in _a_name_for_each_process(mapping)]
    with ThreadPoolExecutor(max_workers=len(consumers) or 1) as pool:
        calls = [pool.submit(_invoke_without_records, functions, arn) for arn in consumers]
    for call in calls:
        call.result()


def _a_name_for_each_process(mapping: dict[str, Any]) -> list[str]:
    """Return the function's name once for each process. A stream, which is read in order, has one."""
    return [mapping["FunctionArn"]] * int(mapping.get("ScalingConfig", {}).get("MaximumConcurrency", 1))


def _invoke_without_records(functions: Any, arn: str) -> None:
    reply = functions.invoke(FunctionName=arn, Payload=b'{"Records": []}')
    if "FunctionError" in reply:
        said = reply["Payload"].read()[:1000].decode(errors="replace")
        raise LocalStackError(f"{arn} fails on an empty batch: {said}")


def token_for(home: Home, stack: LocalStack) -> str:
    """Return the token of an earlier `up` if it is still valid, otherwise a new one."""
    previous = read_description(home).get("token", "")
    return previous if previous and _is_accepted(stack, previous) else _issue_token(home, stack)


def _is_accepted(stack: LocalStack, token: str) -> bool:
    """Return whether the token is the one of an admin, whose call this is."""
    url = f"{stack.api_url}/v1/tokens?limit=1"
    headers = {"Authorization": f"Bearer {token}"}
    status = urllib3.request("GET", url, headers=headers, retries=False, timeout=30).status
    return status not in (401, 403)


def _issue_token(home: Home, stack: LocalStack) -> str:
    """Make a token of the local tenant. As for every token, only its hash is stored."""
    clock = SystemClock()
    tokens = TokenStore(DynamoItems(client(home, "dynamodb"), stack.table, clock), clock)
    return create_token(tokens, clock, LOCAL_USER)[0]


def read_description(home: Home) -> dict[str, Any]:
    try:
        return dict(json.loads(home.description.read_text()))
    except (FileNotFoundError, ValueError):
        return {}


def write_description(home: Home, stack: LocalStack) -> None:
    """Write `local.json` in one step, readable by its owner only, because it contains a token."""
    draft = home.description.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(asdict(stack), file, indent=2)
    draft.replace(home.description)
