"""Everything that a stage stores arrives in the other one, and nothing that was not asked for."""

import json
import re
from typing import Any

from onthedot.access.ports import Principal
from onthedot.access.tokens import create_token, token_hash
from onthedot.core.records import Status
from onthedot.targets.webhooks import SigningKey
from onthedot.transfer.change_stage import begin_import
from tests.scenarios.kits import recurring
from tests.scenarios.kits.two_stages import DESTINATION, TwoStages

DAY = 86_400


def exported(stages: TwoStages, *options: str) -> list[dict[str, Any]]:
    stages.command("export", "--force", *options, str(stages.file))
    return [json.loads(line) for line in stages.file.read_text().splitlines()]


def kinds(lines: list[dict[str, Any]]) -> set[str]:
    return {line["kind"] for line in lines[1:-1]}


def test_jobs_keep_their_ids_states_and_schedules(stages: TwoStages) -> None:
    api = stages.api()
    paused, waiting = api.job(delay=600), api.job(delay=5_000)
    child = api.job(dependencies=[waiting])
    assert api.send("POST", f"/v1/jobs/{paused}/pause").status == 200
    ended = stages.source.submit(1)
    stages.let_pass(2)
    job = recurring.submit(stages.source, recurring.cron("0 9 * * *"))
    stages.move()
    for job_id in (paused, waiting, child, job.job_id, ended.job_id):
        before, after = (stages.api(url).get(f"/v1/jobs/{job_id}").body for url in ("http://source", DESTINATION))
        assert after == before
    assert stages.destination.status(ended) is Status.SUCCEEDED


def test_a_request_that_is_repeated_after_the_move_makes_no_second_job(stages: TwoStages) -> None:
    fields = {"delay": 5, "idempotency_key": "order-7", "payload": "x" * 3_000}
    job = stages.api().job(**fields)
    stages.let_pass(10)
    stages.move()
    assert stages.api(DESTINATION).job(**fields) == job
    stages.let_pass(60)
    assert stages.called()[job] == 1
    other = stages.api(DESTINATION).submit(**{**fields, "delay": 6})
    assert other.status == 409


def test_limits_and_gates_move(stages: TwoStages) -> None:
    api = stages.api()
    api.send("PUT", "/v1/limits/acme", in_flight=7, weight=3)
    api.send("PUT", "/v1/gates/stripe", per_second=0.01)
    first = api.job(gates=["stripe"])
    stages.let_pass(1)
    second = api.job(gates=["stripe"])
    stages.move()
    assert stages.destination.world.limits.find("acme") == stages.source.world.limits.find("acme")
    stages.let_pass(60)
    assert stages.called() == {first: 1}, "the rate counts the start in the other stage"
    stages.let_pass(200)
    assert stages.called() == {first: 1, second: 1}


def test_event_jobs_match_elsewhere_and_an_event_that_was_received_counts_once(stages: TwoStages) -> None:
    job = stages.api().job(on_event={"source": ["shop"]})
    event: dict[str, Any] = {"source": "shop", "detail_type": "order", "detail": {"n": 1}, "id": "e-1"}
    assert stages.api().send("POST", "/v1/events", **event).status == 202
    stages.let_pass(5)
    stages.move()
    stages.let_pass(5)
    assert stages.api(DESTINATION).send("POST", "/v1/events", **event).status == 202
    assert stages.api(DESTINATION).send("POST", "/v1/events", **{**event, "id": "e-2"}).status == 202
    stages.let_pass(60)
    assert sorted(stages.called().values()) == [1, 1]
    assert all(run.startswith(f"{job}.") for run in stages.called())


def test_secrets_move_only_if_asked(stages: TwoStages) -> None:
    world = stages.source.world
    text, _ = create_token(world.tokens, stages.clock, Principal("acme", "operator", "ada"), None)
    keys = (SigningKey("whsec_secret", stages.clock.now(), None),)
    assert world.signing.replace("acme", (), keys)
    without = exported(stages)
    assert not {"token", "signing"} & kinds(without)
    assert "whsec_secret" not in stages.file.read_text()
    stages.move()
    found = stages.destination.world.tokens.find(token_hash(text))
    assert found is not None
    assert found.principal == Principal("acme", "operator", "ada")
    assert tuple(stages.destination.world.signing.keys("acme")) == keys
    assert text not in stages.file.read_text()
    assert stages.file.stat().st_mode & 0o777 == 0o600


def test_old_runs_move_only_if_asked(stages: TwoStages) -> None:
    job = recurring.submit(stages.source, recurring.every(60, stages.source), max_runs=1)
    stages.let_pass(90)
    [run] = recurring.runs_of(stages.source, job)
    stages.clock.advance(3 * DAY)
    ids = {line.get("id") for line in exported(stages)}
    assert job.job_id in ids
    assert run.run_id not in ids
    assert run.run_id in {line.get("id") for line in exported(stages, "--history")}


def test_a_record_that_cannot_be_read_is_named_and_stops_no_other(stages: TwoStages) -> None:
    good, bad = stages.source.submit(60), stages.source.submit(60)
    with stages.source.world.database.transaction() as connection:
        connection.execute("UPDATE runs SET definition = '{' WHERE run_id = ?", (bad.run_id,))
    result = stages.command("export", "--freeze", str(stages.file))
    assert f"{bad.run_id} cannot be read" in result.stderr
    refused = stages.try_command("import", "--release", str(stages.file))
    assert refused.exit_code == 1
    assert f"refused: record {bad.run_id}: it cannot be read: its definition" in refused.stderr
    assert "--leave-refused" in refused.stderr
    stages.let_pass(120)
    assert stages.called() == {}
    stages.command("import", "--release", "--leave-refused", str(stages.file))
    stages.let_pass(120)
    assert stages.called() == {good.run_id: 1}


def test_another_job_with_the_same_id_is_kept_and_the_entry_refused(stages: TwoStages) -> None:
    job = stages.api().job(delay=60, idempotency_key="k")
    other = stages.api().job(delay=60)
    stages.clock.advance(1)
    assert stages.api(DESTINATION).job(delay=61, idempotency_key="k") == job
    stages.command("export", "--freeze", str(stages.file))
    result = stages.try_command("import", str(stages.file))
    assert f"refused: record {job}: another record of this stage has the id" in result.stderr
    assert re.findall(r"\d+", result.stdout) == ["1", "0", "1"], "created, already there, refused"
    assert stages.destination.world.store.get(other) is not None


def test_other_limits_of_the_destination_are_kept_and_the_entry_refused(stages: TwoStages) -> None:
    stages.api().send("PUT", "/v1/limits/acme", in_flight=7)
    stages.api(DESTINATION).send("PUT", "/v1/limits/acme", in_flight=8)
    stages.command("export", "--freeze", str(stages.file))
    result = stages.try_command("import", str(stages.file))
    assert "refused: limits acme: this stage has other limits already" in result.stderr
    found = stages.destination.world.limits.find("acme")
    assert found is not None
    assert found.in_flight == 8


def test_bad_entries_are_refused_one_by_one(stages: TwoStages) -> None:
    begin_import(stages.destination.world.engine, "f")
    stages.clock.advance(10)
    entries = [
        {"kind": "gate", "format": 1, "id": "g", "content": {"tenant": "acme", "name": "NO", "limits": "{}"}},
        {"kind": "gate", "format": 1, "id": "g", "content": {"tenant": "acme", "name": "ok", "limits": "{"}},
        {"kind": "limits", "format": 1, "id": "l", "content": {"tenant": "acme", "limits": '{"in_flight":-1}'}},
        {"kind": "blob", "format": 1, "id": "passes/payloads", "content": {"base64": "eHg="}},
        {"kind": "blob", "format": 1, "id": "payloads/x", "content": {"base64": "?"}},
        {"kind": "token", "format": 1, "id": "t", "content": {"tenant": "acme", "role": "king", "name": "x"}},
        {"kind": "signing", "format": 1, "id": "s", "content": {}},
        {"kind": "event", "format": 1, "id": "e", "content": {"tenant": "", "digest": "d", "time": 1}},
        {"kind": "rate", "format": 1, "id": "r", "content": {"gate": "x", "next_start": 1}},
        {"kind": "record", "format": 1, "id": "job_a", "content": {}},
        {"kind": "record", "format": 2, "id": "job_b", "content": {}},
        {"kind": "castle", "format": 1, "id": "c", "content": {}},
        "text",
        {"kind": "limits", "format": 1, "id": "good", "content": {"tenant": "good", "limits": '{"in_flight":1}'}},
    ]
    answer = stages.api(DESTINATION).send("POST", "/v1/import", freeze_id="f", entries=entries).body
    assert (answer["created"], answer["present"], len(answer["refused"])) == (1, 0, len(entries) - 1)
    assert all(one["why"] for one in answer["refused"])
