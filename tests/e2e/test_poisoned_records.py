"""Poisoned records in the slots of every shard of the deployed stack: all other runs fire on time."""

import json
from typing import Any

from click.testing import CliRunner

from onthedot.cli.main import main
from onthedot.engines.aws.dynamodb.keys import run_id_of, run_key
from tests.e2e.control import is_on_time
from tests.e2e.deployment import Deployment
from tests.e2e.homes import until
from tests.e2e.poisoned import ONE_OFFS, RECURRING, PoisonedStory
from tests.poison import UNREADABLE

MINUTES = 60
MOST_LATE_MS = 20_000
"""Far less than a tick: a run that a poisoned record holds up is found by the next tick at the earliest."""
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


def test_all_healthy_jobs_fire_once_and_on_time(deployment: Deployment) -> None:
    story = deployment.poisoned
    deployment.listener.wait_for("/beside-poison", count=ONE_OFFS, seconds=9 * MINUTES)
    deployment.listener.wait_for("/cron-beside-poison", count=RECURRING, seconds=9 * MINUTES)
    for job_id in story.one_offs:
        deployment.api.wait_for(job_id, "SUCCEEDED")
    late = {}
    for job_id in (*story.one_offs, *story.recurring):
        runs = deployment.api.pages(f"/v1/jobs/{job_id}/executions", "executions")
        [ended] = [one for one in runs if one["started_at"] is not None]
        late[job_id] = ended["lateness_ms"]
    assert len(late) == ONE_OFFS + RECURRING
    lates = sorted(late.values())
    seen = (lates, [control.late() for control in story.controls])
    assert lates[0] >= 0, seen
    assert is_on_time(lates[len(lates) * 9 // 10], story.controls), seen
    assert is_on_time(lates[-1], story.controls, within=MOST_LATE_MS), seen
    for path, count in (("/beside-poison", ONE_OFFS), ("/cron-beside-poison", RECURRING)):
        assert len(deployment.listener.at_path(path)) == count


def test_records_that_cannot_be_read_are_set_aside_and_otherwise_unchanged(deployment: Deployment) -> None:
    story = deployment.poisoned
    deployment.listener.wait_for("/cron-beside-poison", count=RECURRING, seconds=9 * MINUTES)
    kinds = set()
    for run_id, (kind, before) in story.records.items():
        if kind in UNREADABLE:
            now = item_outside(deployment, run_id, before["slot"])
            assert now["slot"]["S"].startswith("aside#"), (kind, before["slot"], now)
            if kind != "definition not JSON":
                # The claim pass reads the index alone, so it moves a run whose definition is damaged once.
                assert _unchanged(before, now), (kind, before, now)
            kinds.add(kind)
    assert kinds == set(UNREADABLE)


def test_explain_and_the_read_of_such_a_record_say_so(deployment: Deployment) -> None:
    run_id = _some(deployment.poisoned, "unknown status")
    status, answer = deployment.api.call("GET", f"/v1/jobs/{run_id}/explain")
    assert (status, [reason["code"] for reason in answer["reasons"]]) == (200, ["unreadable"])
    assert "status" in answer["reasons"][0]["message"]
    status, answer = deployment.api.call("GET", f"/v1/jobs/{run_id}")
    assert (status, answer["error"]["code"]) == (500, "unreadable")


def test_runs_of_a_removed_pool_and_of_a_newer_version_are_handled(deployment: Deployment) -> None:
    story = deployment.poisoned
    deployment.listener.wait_for("/cron-beside-poison", count=RECURRING, seconds=9 * MINUTES)
    for run_id, (kind, before) in story.records.items():
        if kind not in UNREADABLE:
            now = item_outside(deployment, run_id, before["slot"])
            assert not now.get("slot", {"S": ""})["S"].startswith("aside#"), (kind, now)
            if kind == "unknown pool":
                assert now["pool"] != before["pool"], now


def item_of(deployment: Deployment, run_id: str) -> dict[str, Any]:
    found = deployment.client("dynamodb").get_item(
        TableName=deployment.stack.table, Key=run_key(run_id), ConsistentRead=True
    )
    item: dict[str, Any] = found["Item"]
    assert run_id_of(item) == run_id
    return item


def item_outside(deployment: Deployment, run_id: str, slot: Any) -> dict[str, Any]:
    """Return the item once a pass has taken it out of this slot. The sweep reads the last slots after their minute."""

    def outside() -> Any:
        item = item_of(deployment, run_id)
        return None if item.get("slot") == slot else item

    found: dict[str, Any] = until(outside, 3 * MINUTES, every=0.5)
    return found


def _unchanged(before: dict[str, Any], now: dict[str, Any]) -> bool:
    return {**now, "slot": before["slot"]} == {**before, **{n: v for n, v in now.items() if n.startswith("aside_")}}


def _some(story: PoisonedStory, kind: str) -> str:
    return next(run_id for run_id, (poison, _) in story.records.items() if poison == kind)


def test_an_operator_repairs_a_record_and_takes_it_up(deployment: Deployment) -> None:
    run_id = _some(deployment.poisoned, "unknown kind")
    deployment.listener.wait_for("/cron-beside-poison", count=RECURRING, seconds=9 * MINUTES)
    audit = ["audit", "--table", deployment.stack.table, "--endpoint-url", deployment.stack.endpoint_url, "--json"]
    found = CliRunner().invoke(main, audit, env=CREDENTIALS)
    assert found.exit_code == 1, found.output
    assert run_id in {one["id"] for one in json.loads(found.stdout)["unreadable"]}
    repair: Any = {"kind": {"Action": "PUT", "Value": {"S": "one-off"}}}
    deployment.client("dynamodb").update_item(
        TableName=deployment.stack.table, Key=run_key(run_id), AttributeUpdates=repair
    )
    taken = CliRunner().invoke(main, [*audit, "--take-up"], env=CREDENTIALS)
    # A tick may have put it back before this command.
    assert json.loads(taken.stdout)["counts"]["put_back"] in (0, 1), taken.output
    assert "aside_why" not in item_of(deployment, run_id)
    assert run_id not in {one["id"] for one in json.loads(taken.stdout)["unreadable"]}
