"""`onthedot audit` on a table: what it prints, and its exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import main
from onthedot.cli.operations import audit as command
from onthedot.core.clock import SystemClock
from onthedot.core.shards import ShardStore
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.engines.store_around import announce
from tests.builders import a_run
from tests.handlers.audited import AUDITED, a_job_with_history
from tests.handlers.conftest import TABLE, Cloud


def audit(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["audit", "--table", TABLE, *arguments])


@pytest.fixture
def used(cloud: Cloud) -> Cloud:
    """A writer has used two shards."""
    announce(ShardStore(cloud.stored), 2, SystemClock().now())
    return cloud


def test_all_due_jobs_are_shown_with_what_was_found(used: Cloud) -> None:
    jobs = [a_job_with_history(used) for _ in range(4)]  # in both shards, most likely
    result = audit()
    assert result.exit_code == 0, result.output
    assert all(job.job_id in result.output for job in jobs)
    assert f"jobs: 4, fire times: {4 * AUDITED}, late: 0, holes: 0" in result.output


def test_late_ticks_are_named_and_are_an_exit_code(cloud: Cloud) -> None:
    long_ago = SystemClock().now() - 600_000
    announce(ShardStore(cloud.stored), 2, long_ago)
    job = a_job_with_history(cloud)
    for result in (audit(), audit(job.job_id), audit("--json")):
        assert result.exit_code == 1
        assert "no tick has ended since the scheduler started" in result.output


def test_holes_are_named_and_are_an_exit_code(used: Cloud) -> None:
    job = a_job_with_history(used, without=2)
    result = audit()
    assert result.exit_code == 1
    assert f"hole {job.job_id}" in result.output


def test_records_that_were_set_aside_are_named(used: Cloud) -> None:
    store = DynamoRunStore(used.client("dynamodb"), TABLE, SystemClock())
    run = a_run(SystemClock()).due_in(600).pending().stored_in(store)
    assert run.slot is not None
    store.set_aside(run.run_id, run.slot, "handling it failed: [red]odd[/]", SystemClock().now())

    result = audit()
    assert result.exit_code == 1, result.output
    assert f"set aside {run.run_id}: handling it failed: [red]odd[/]" in result.output
    named = json.loads(audit("--json").output)["unreadable"]
    assert named == [{"id": run.run_id, "why": "handling it failed: [red]odd[/]"}]


def test_one_job_is_audited_as_json(cloud: Cloud) -> None:
    job = a_job_with_history(cloud, without=2)
    result = audit(job.job_id, "--json")
    assert result.exit_code == 1
    answer: dict[str, Any] = json.loads(result.output)
    (view,) = answer["jobs"]
    assert (view["job_id"], view["expected"], view["accounted"]) == (job.job_id, AUDITED, AUDITED - 1)
    assert [set(hole) for hole in view["holes"]] == [{"time", "why"}]
    assert answer["counts"]["holes"] == 1


def test_a_job_that_is_not_there_or_does_not_recur_is_a_usage_error(cloud: Cloud) -> None:
    store = DynamoRunStore(cloud.client("dynamodb"), TABLE, SystemClock())
    one_off = a_run(SystemClock()).stored_in(store)
    for job_id, why in (("job_none", "there is no job job_none"), (one_off.run_id, "is not a recurring job")):
        result = audit(job_id)
        assert (result.exit_code, why in result.output) == (2, True), result.output


def test_a_table_that_is_not_there_is_no_verdict_on_its_jobs(cloud: Cloud) -> None:
    result = CliRunner().invoke(main, ["audit", "--table", "elsewhere"])
    assert (result.exit_code, "elsewhere: " in result.output) == (2, True), result.output


def test_a_table_that_has_no_jobs_is_no_verdict(cloud: Cloud) -> None:
    result = audit()
    assert (result.exit_code, "no job was stored" in result.output) == (2, True), result.output


def test_an_audit_that_did_not_reach_everything_says_so(used: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "PATIENCE_MS", 0)
    result = audit()
    assert (result.exit_code, "242 out of time" in result.output) == (2, True), result.output


def test_without_a_table_it_is_that_of_the_local_stack(
    used: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = {"table": TABLE, "endpoint_url": "https://dynamodb.us-east-1.amazonaws.com"}
    (tmp_path / "local.json").write_text(json.dumps(stack))
    monkeypatch.setenv("ONTHEDOT_HOME", str(tmp_path))
    result = CliRunner().invoke(main, ["audit"])
    assert result.exit_code == 0, result.output
    assert result.output == "jobs: 0, fire times: 0, late: 0, holes: 0, unreadable: 0\n"


@pytest.mark.parametrize("arguments", [[], ["--region", "us-east-1"]])
def test_without_a_local_stack_it_asks_for_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.delenv("ONTHEDOT_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["audit", *arguments])
    assert (result.exit_code, "--table" in result.output) == (2, True), result.output
