"""`onthedot tenants delete` by AWS credentials, on the table and the bucket of the handler tests."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from onthedot.access.ports import Principal
from onthedot.access.token_store import TokenStore
from onthedot.access.tokens import create_token
from onthedot.cli.main import main
from onthedot.core.clock import SystemClock
from onthedot.core.records import Status
from onthedot.core.schema import PAYLOADS, blobs_of
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.wiring import aws
from tests.builders import a_run
from tests.handlers.conftest import BUCKET, TABLE, Cloud


@pytest.fixture(autouse=True)
def _settled_at_once(stage: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onthedot.access.tenants.SETTLED_MS", 1)
    monkeypatch.setattr("onthedot.access.tenants.STOPPED_MS", 1)


@pytest.fixture
def tokens(cloud: Cloud) -> TokenStore:
    made = TokenStore(cloud.stored, SystemClock())
    for tenant in ("acme", "other"):
        create_token(made, SystemClock(), Principal(tenant, "viewer", "ada"))
        aws.blobs_in(BUCKET).put(f"{blobs_of(tenant, PAYLOADS)}abc", b"{}")
    return made


def delete(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, ["tenants", "delete", *arguments, "--stage", "test"], input=typed)


def owners(tokens: TokenStore) -> list[str]:
    return [token.principal.tenant for token in tokens.page(100).items]


def test_a_tenant_is_deleted_when_its_name_was_typed_again(tokens: TokenStore, cloud: Cloud) -> None:
    result = delete("acme", typed="acme\n")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Tenant acme is deleted: ")
    assert "1 blobs and 1 tokens" in result.stdout
    assert owners(tokens) == ["other"]
    found: Any = cloud.client("s3").list_objects_v2(Bucket=BUCKET)["Contents"]
    assert [blob["Key"] for blob in found] == [f"{blobs_of('other', PAYLOADS)}abc"]


@pytest.mark.parametrize("typed", ["acm\n", "yes\n", "\n\n", ""])
def test_another_name_deletes_nothing(tokens: TokenStore, typed: str) -> None:
    result = delete("acme", typed=typed)
    assert result.exit_code == 1
    assert sorted(owners(tokens)) == ["acme", "other"]


def test_with_yes_it_does_not_ask_and_with_json_it_prints_one_document(tokens: TokenStore) -> None:
    result = delete("acme", "--yes", "--json")
    assert result.exit_code == 0, result.stderr
    shown = json.loads(result.stdout)
    assert (shown["tenant"], shown["tokens"], shown["blobs"]) == ("acme", 1, 1)
    assert json.loads(delete("acme", "--yes", "--json").stdout)["tokens"] == 0
    assert owners(tokens) == ["other"]


def test_the_stages_own_tenant_is_refused(tokens: TokenStore) -> None:
    result = delete("onthedot", "--yes")
    assert (result.exit_code, "the stage's own jobs" in result.stderr) == (1, True)
    assert len(owners(tokens)) == 2


def test_after_a_failure_the_message_says_that_the_command_can_be_repeated(tokens: TokenStore, cloud: Cloud) -> None:
    client = cloud.client("s3")
    for tenant in ("acme", "other"):
        client.delete_object(Bucket=BUCKET, Key=f"{blobs_of(tenant, PAYLOADS)}abc")
    client.delete_bucket(Bucket=BUCKET)
    result = delete("acme", "--yes")
    assert result.exit_code == 1
    assert "Run the same command again" in result.stderr
    assert "Traceback" not in result.stderr
    client.create_bucket(Bucket=BUCKET)
    assert delete("acme", "--yes").exit_code == 0
    assert owners(tokens) == ["other"]


def test_all_jobs_of_a_tenant_are_paused_and_cancelled(cloud: Cloud) -> None:
    def tenants(*arguments: str, typed: str | None = None) -> Result:
        return CliRunner().invoke(main, ["tenants", *arguments, "--stage", "test"], input=typed)

    store = DynamoRunStore(cloud.client("dynamodb"), TABLE, SystemClock())
    job = a_run(SystemClock()).in_tenant("acme").due_in(9_000).pending().stored_in(store)
    paused = tenants("pause", "acme", "--json")
    assert paused.exit_code == 0, paused.output
    assert json.loads(paused.stdout) == {"tenant": "acme", "action": "pause", "done": 1, "unchanged": 0, "failed": 0}
    refused = tenants("cancel", "acme", typed="acm\n")
    assert (refused.exit_code, "nothing was cancelled" in refused.output) == (1, True)
    cancelled = tenants("cancel", "acme", "--yes")
    assert cancelled.exit_code == 0, cancelled.output
    assert "cancel: 1 job of acme changed" in cancelled.stdout
    found = store.get(job.run_id)
    assert found is not None
    assert found.status is Status.CANCELLED
