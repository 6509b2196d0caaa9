"""`onthedot destroy`: the order of the stacks, the things that stay, and the ways to say no."""

import json

import pytest
from click.testing import Result

from onthedot.cli.deploying import destroy as destroy_module
from tests.unit.cli.conftest import invoke
from tests.unit.cli.fake_account import ACCOUNT, FakeAccount, use_fakes

TABLE, BUCKET, ROLE = "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::IAM::Role"
IN_ORDER = ["watch", "fargate", "events", "api", "workers", "dispatch", "queues", "data"]


def stage_of(account: FakeAccount, stage: str, policy: str | None, *, protected: bool = False) -> None:
    """Add a stage: `policy` is the deletion policy of its data."""
    for part in reversed(IN_ORDER[:-1]):
        account.add_stack(f"onthedot-{stage}-{part}", {})
    data = {"Jobs": (TABLE, f"onthedot-{stage}-jobs", policy), "Blobs": (BUCKET, f"blobs-of-{stage}", policy)}
    account.add_stack(f"onthedot-{stage}-data", data, protected)
    account.stacks[f"onthedot-{stage}-api"]["resources"] = {"Role": (ROLE, f"{stage}-api-role", "Retain")}
    account.objects[f"blobs-of-{stage}"] = ["a", "b"]


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> FakeAccount:
    made = FakeAccount()
    use_fakes(monkeypatch, made)
    stage_of(made, "dev", None)
    stage_of(made, "prod", "Retain", protected=True)
    return made


def run(*arguments: str, answer: str = "") -> Result:
    return invoke("destroy", *arguments, typed=answer)


def test_the_stacks_go_one_after_another_and_the_data_last(account: FakeAccount) -> None:
    result = run("--stage", "dev", "--yes", "--json")
    done = json.loads(result.stdout)
    assert (done["action"], done["stage"], done["account"]) == ("destroy", "dev", ACCOUNT)
    assert account.deleted == done["deleted"] == [f"onthedot-dev-{part}" for part in IN_ORDER]
    assert [one["name"] for one in done["kept"]] == ["dev-api-role", "CDKToolkit"]
    assert account.objects == {"blobs-of-dev": [], "blobs-of-prod": ["a", "b"]}
    assert "Stage dev is deleted." in result.stderr


def test_objects_of_a_bucket_that_stays_are_kept(account: FakeAccount) -> None:
    account.stacks["onthedot-prod-data"]["protected"] = False
    result = run("--stage", "prod", "--yes")
    assert result.exit_code == 0, result.output
    assert account.objects["blobs-of-prod"] == ["a", "b"]
    kept = result.output.partition("Stage prod is deleted.")[2]
    for name in ("onthedot-prod-jobs", "blobs-of-prod", "prod-api-role", "CDKToolkit"):
        assert name in kept


def test_a_stack_that_is_gone_already_is_passed_over(account: FakeAccount) -> None:
    del account.stacks["onthedot-dev-watch"]
    assert run("--stage", "dev", "--yes").exit_code == 0
    assert account.deleted == [f"onthedot-dev-{part}" for part in IN_ORDER[1:]]


def test_a_protected_stage_is_refused_before_anything_is_deleted(account: FakeAccount) -> None:
    result = run("--stage", "prod", "--yes")
    assert result.exit_code == 1
    assert "onthedot-prod-data has termination protection" in result.output
    assert "`aws cloudformation update-termination-protection --no-enable-termination-protection" in result.output
    result = run("--stage", "prod", "--yes", "--region", "eu-west-1")
    assert "`AWS_REGION=eu-west-1 aws cloudformation update-termination-protection" in result.output
    assert account.deleted == []


def test_a_stage_that_does_not_exist_is_an_error(account: FakeAccount) -> None:
    result = run("--stage", "dve", "--yes")
    assert (result.exit_code, ACCOUNT in result.output) == (1, True)


def test_without_a_terminal_it_wants_yes(account: FakeAccount) -> None:
    result = run("--stage", "dev")
    assert (result.exit_code, "--yes" in result.output, account.deleted) == (1, True, [])


@pytest.mark.parametrize(("answer", "gone"), [("dev\n", True), ("prod\n", False), ("\n", False)])
def test_at_a_terminal_it_asks_for_the_name_of_the_stage(
    account: FakeAccount, monkeypatch: pytest.MonkeyPatch, answer: str, gone: bool
) -> None:
    monkeypatch.setattr(destroy_module, "has_terminal", lambda: True)
    result = run("--stage", "dev", answer=answer)
    assert (result.exit_code == 0) is gone
    assert bool(account.deleted) is gone


def test_a_stack_that_cannot_be_deleted_stops_the_rest_with_its_reason(account: FakeAccount) -> None:
    account.undeletable["onthedot-dev-queues"] = "a person holds it"
    result = run("--stage", "dev", "--yes")
    assert result.exit_code == 1
    assert "onthedot-dev-queues cannot be deleted: Jobs: a person holds it" in result.output
    assert "onthedot-dev-data" not in account.deleted
    assert account.objects["blobs-of-dev"] == ["a", "b"]


def test_a_deletion_that_failed_halfway_can_be_repeated(account: FakeAccount) -> None:
    account.gone = {"blobs-of-dev", "dev-api-role"}
    account.objects["blobs-of-dev"] = []
    result = run("--stage", "dev", "--yes")
    assert result.exit_code == 0, result.output
    assert "dev-api-role" not in result.output
