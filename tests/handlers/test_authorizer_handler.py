"""Token in, policy out; anything else is refused."""

from collections.abc import Callable
from types import ModuleType

import pytest

from onthedot.access.ports import Principal
from onthedot.access.token_store import TokenStore
from onthedot.access.tokens import create_token, revoke_token, token_hash
from onthedot.core.clock import SystemClock
from onthedot.core.errors import Unavailable
from onthedot.core.schema import token_key
from onthedot.engines.aws.dynamodb.keys import stored_key
from onthedot.settings import AuthorizerSettings
from tests.builders import VirtualClock
from tests.handlers.conftest import TABLE, Cloud, Context

METHOD = "arn:aws:execute-api:us-east-1:123456789012:api1/prod/GET/v1/jobs/job_1"


@pytest.fixture
def handler(cloud: Cloud, load: Callable[..., ModuleType]) -> ModuleType:
    return load("authorizer", AuthorizerSettings(stage="test", table=TABLE))


def tokens_of(cloud: Cloud) -> TokenStore:
    return TokenStore(cloud.stored, SystemClock())


def test_a_good_token_opens_the_whole_stage_for_its_tenant(handler: ModuleType, cloud: Cloud) -> None:
    token, _ = create_token(tokens_of(cloud), SystemClock(), Principal("acme", "viewer", "ada"))
    answer = handler.handle({"authorizationToken": f"Bearer {token}", "methodArn": METHOD}, Context())
    (statement,) = answer["policyDocument"]["Statement"]
    assert (statement["Effect"], statement["Resource"]) == (
        "Allow",
        "arn:aws:execute-api:us-east-1:123456789012:api1/prod/*",
    )
    assert answer["context"] == {"tenant": "acme", "role": "viewer", "name": "ada"}


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic abc", "otd_x"])
def test_anything_else_is_unauthorized(handler: ModuleType, header: str | None) -> None:
    with pytest.raises(handler.Unauthorized, match=r"^Unauthorized$"):
        handler.handle({"authorizationToken": header, "methodArn": METHOD}, Context())


def test_a_revoked_token_is_unauthorized(handler: ModuleType, cloud: Cloud) -> None:
    text, token = create_token(tokens_of(cloud), SystemClock(), Principal("acme", "viewer", "ada"))
    event = {"authorizationToken": f"Bearer {text}", "methodArn": METHOD}
    assert handler.handle(event, Context())["context"]["tenant"] == "acme"
    revoke_token(tokens_of(cloud), token.id)
    with pytest.raises(handler.Unauthorized):
        handler.handle(event, Context())


def test_an_expired_token_is_unauthorized_before_ttl_deletes_it(handler: ModuleType, cloud: Cloud) -> None:
    past = VirtualClock(SystemClock().now() - 60_000)
    text, _ = create_token(tokens_of(cloud), past, Principal("acme", "viewer", "ada"), past.now() + 30_000)
    key = stored_key(token_key(token_hash(text)))
    assert cloud.client("dynamodb").get_item(TableName=TABLE, Key=key).get("Item")
    with pytest.raises(handler.Unauthorized):
        handler.handle({"authorizationToken": f"Bearer {text}", "methodArn": METHOD}, Context())


def test_while_the_tokens_cannot_be_read_no_caller_is_let_in(handler: ModuleType, cloud: Cloud) -> None:
    cloud.client("dynamodb").delete_table(TableName=TABLE)
    with pytest.raises(Unavailable, match="read token"):
        handler.handle({"authorizationToken": "Bearer otd_good", "methodArn": METHOD}, Context())
