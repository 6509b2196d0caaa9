"""Why did my job not run? Fifteen incidents, each with a sentence that names its cause, and what would help."""

import re
from typing import Any

import pytest

from onthedot.core.ports import Answer
from tests.builders import World
from tests.scenarios.kits.faults import Crash
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import SHELL, Api, a_worker

DOWN = Answer(ok=False, error="HTTP 503", error_class="http_503")


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


class Explained:
    """The answer of `explain` about a job."""

    def __init__(self, api: Api, job_id: str) -> None:
        response = api.get(f"/v1/jobs/{job_id}/explain")
        assert response.status == 200, response.body
        self.reasons = {one["code"]: one["message"] for one in response.body["reasons"]}
        self.first = response.body["reasons"][0]["code"]
        self.story = [one["message"] for one in response.body["timeline"]]
        self.times = [one["time"] for one in response.body["timeline"]]
        self.what_if = {one["action"]: one["message"] for one in response.body["what_if"]}
        assert self.times == sorted(self.times)


def test_1_a_paused_job(api: Api, world: World, simulation: Simulation) -> None:
    job_id = api.job(every=300, misfire={"policy": "skip"})
    simulation.let_pass(310)
    api.send("POST", f"/v1/jobs/{job_id}/pause")
    simulation.let_pass(700)
    found = Explained(api, job_id)
    assert found.first == "paused"
    assert found.reasons["paused"] == "it was paused by a test at 2026-03-01T12:05:10.000Z; resume it"
    assert "paused by a test" in found.story
    assert found.what_if["resume"] == (
        "Resumed now: 2 missed fire times are skipped (misfire policy skip); the next is at 2026-03-01T12:20:00.000Z."
    )
    api.send("POST", f"/v1/jobs/{job_id}/resume")
    simulation.let_pass(1)
    ranges = [one for one in api.get(f"/v1/jobs/{job_id}/executions").body["executions"] if one["status"] == "SKIPPED"]
    assert [one["count"] for one in ranges] == [2], "the resume did what explain said"


@pytest.mark.parametrize("policy", ["run_latest", "run_all", "skip"])
@pytest.mark.parametrize(
    ("every", "until", "paused"), [(600, 1210, 3600), (60, 310, 700), (60, 30, 90), (60, 30, 20), (300, 10, 310)]
)
def test_1_a_resume_does_what_explain_said(  # noqa: PLR0917 - the fixtures and the case
    api: Api, simulation: Simulation, policy: str, every: int, until: int, paused: int
) -> None:
    """Fire times of the last minute are not missed yet (grace), and runs that the pause has ended are skipped too."""
    job_id = api.job(every=every, misfire={"policy": policy})
    simulation.let_pass(until)
    api.send("POST", f"/v1/jobs/{job_id}/pause")
    simulation.let_pass(paused)
    said = Explained(api, job_id).what_if["resume"]
    numbers = re.search(r"(the (latest )?missed fire time|\d+ missed fire times run|the latest \d+ )", said)
    runs = 0 if numbers is None else int("".join(filter(str.isdigit, numbers[0])) or 1)
    older = re.search(r"(\d+) (older|missed fire times? (is|are) skipped)", said)
    before = len(simulation.target.calls)
    api.send("POST", f"/v1/jobs/{job_id}/resume")
    simulation.let_pass(5)
    assert len(simulation.target.calls) - before == runs, said
    ended = api.get(f"/v1/jobs/{job_id}/executions").body["executions"]
    skipped = sum(one.get("count") or 1 for one in ended if one["status"] == "SKIPPED")
    assert skipped == (0 if older is None else int(older[1])), said


def test_1_a_paused_one_off_job_would_run_at_its_time(api: Api, world: World) -> None:
    job_id = api.job(delay=3600)
    api.send("POST", f"/v1/jobs/{job_id}/pause")
    assert Explained(api, job_id).what_if["resume"] == "Resumed now, it would run at 2026-03-01T13:00:00.000Z."
    world.clock.advance(4000)
    assert Explained(api, job_id).what_if["resume"] == "Resumed now, it would start at once."


def one_place_is_taken(api: Api, world: World, **fields: Any) -> str:
    """A job that waits because another one runs and there is one place."""
    worker = a_worker(api, resources={"concurrency": 4})
    api.job(target=SHELL, name="encode", **fields)
    [_] = worker.lease()
    job_id = api.job(target=SHELL, **fields)
    world.clock.advance(10)
    assert worker.lease() == []
    return job_id


def test_2_the_limit_of_a_gate(api: Api, world: World) -> None:
    api.send("PUT", "/v1/gates/stripe", in_flight=1)
    found = Explained(api, one_place_is_taken(api, world, gates=["stripe"]))
    assert found.first == "waits_at_gate"
    assert "gate stripe: 1 of 1 place is in use" in found.reasons["waits_at_gate"]
    assert found.story[-1] == found.reasons["waits_at_gate"]
    assert "; held by encode (since 2026-03-01T12:00:0" in found.reasons["waits_at_gate"]
    assert found.what_if["lift_limit"] == "If the limit of gate stripe were lifted now, it would start at once."
    assert "about" not in str(found.reasons), "how long the other one runs is not known"


def test_3_the_limit_of_a_tenant(api: Api, world: World) -> None:
    api.send("PUT", "/v1/limits/acme", in_flight=1)
    found = Explained(api, one_place_is_taken(api, world))
    held = "1 of 1 place is in use; held by encode (since 2026-03-01T12:00:0"
    assert f"the limits of tenant acme: {held}" in found.reasons["waits_at_gate"]
    assert found.what_if["lift_limit"].startswith(
        "If the limits of tenant acme were lifted now, it would start at once."
    )


def test_4_no_worker_is_able(api: Api, simulation: Simulation) -> None:
    lost = a_worker(api, "gpu", resources={"concurrency": 1, "cpu": 4, "memory_mb": 4096, "storage_mb": 1000})
    job_id = api.job(target=SHELL, requirements={"capabilities": ["gpu"], "cpu": 2, "storage_mb": 900})
    simulation.let_pass(600)  # the worker with the GPU falls silent
    a_worker(api)
    found = Explained(api, job_id)
    assert found.first == "no_worker"
    assert "lacks capability 'gpu'" in found.reasons["no_worker"]
    could = f"; worker {lost.worker_id} could, and was lost at 2026-03-01T12:00:00.000Z"
    assert found.reasons["no_worker"].endswith(could)
    assert "that offers capabilities gpu and shell, cpu 2, storage_mb 900 would run it" in found.what_if["start_worker"]
    assert "cpu 2" in found.what_if["start_worker"]
    assert "storage_mb 900" in found.what_if["start_worker"]
    assert "`onthedot worker --pool pull --capability gpu --shell`" in found.what_if["start_worker"]


@pytest.mark.parametrize(
    ("target", "needed", "options"),
    [
        (SHELL, [], " --shell"),
        ({"type": "python", "handler": "train"}, ["gpu", "eu"], " --capability eu --capability gpu --app MODULE"),
        ({"type": "http", "url": "https://example.com/"}, ["gpu"], " --capability gpu"),
    ],
)
def test_4_the_command_starts_a_worker_that_can(
    api: Api, simulation: Simulation, target: dict[str, Any], needed: list[str], options: str
) -> None:
    able = [*needed, *([f"python:{target['handler']}"] if "handler" in target else [])]
    a_worker(api, *able)
    job_id = api.job(target=target, requirements={"capabilities": needed})
    simulation.let_pass(600)
    assert f"`onthedot worker --pool pull{options}`" in Explained(api, job_id).what_if["start_worker"]


def test_5_a_worker_is_lost_and_no_other_is_alive(api: Api, world: World, simulation: Simulation) -> None:
    worker = a_worker(api)
    a_worker(api.called_by("other"))
    job_id = api.job(target=SHELL)
    worker.take()
    simulation.let_pass(900)
    a_worker(api.called_by("other"))
    found = Explained(api, job_id)
    lost = f"worker {worker.worker_id} was lost at 2026-03-01T12:00:00.000Z"
    assert found.first == "no_worker"
    assert found.reasons["no_worker"] == f"no live worker of pool pull serves tenant acme: {lost}; start one"
    assert found.reasons["retrying"].startswith("the retry is due since 2026-03-01T12:0")
    assert found.reasons["retrying"].endswith(f", after: worker {worker.worker_id} was lost in attempt 1")


def test_5_a_worker_that_dies_with_each_attempt(api: Api, world: World) -> None:
    simulation = Simulation(world, [Crash] * 10)
    job_id = api.job(delay=1, timeout_seconds=10)
    simulation.let_pass(3600)
    found = Explained(api, job_id)
    assert found.first == "failed"
    assert "attempts were lost" in found.reasons["failed"]
    assert any("lost" in message for message in found.story)
    again = "Its worker was lost in each of 5 attempts, so it will probably end in the same way."
    assert found.what_if["redrive"].endswith(again)


def test_5_a_worker_that_is_killed_says_what_that_usually_means(api: Api) -> None:
    worker = a_worker(api)
    job_id = api.job(target=SHELL)
    for _ in range(5):
        worker.complete(worker.take(), "LOST", error="killed by signal 9 at 2,048 MB")
    assert (
        Explained(api, job_id)
        .reasons["failed"]
        .endswith("5 attempts were lost; the last: killed by signal 9 at 2,048 MB, usually out of memory")
    )


def test_5_a_redrive_without_a_live_worker_says_first_that_none_is_alive(api: Api, simulation: Simulation) -> None:
    worker = a_worker(api)
    job_id = api.job(target=SHELL, retry={"max_retries": 0})
    worker.complete(worker.take(), "FAILED", error="exit 1")
    assert Explained(api, job_id).what_if["redrive"] == (
        "Redriven now, it would start at once: no run waits in queue pull-medium, with 1 attempt."
    )
    simulation.let_pass(900)
    found = Explained(api, job_id)
    lost = f"worker {worker.worker_id} was lost at 2026-03-01T12:00:00.000Z"
    assert found.what_if["redrive"] == (
        f"Start a worker first: no worker of pool pull is alive: {lost}."
        " Redriven now, it would wait in queue pull-medium for such a worker, with 1 attempt."
    )
    assert "onthedot worker --pool pull --shell" in found.what_if["start_worker"]


def test_6_ticks_are_late(api: Api, world: World, simulation: Simulation) -> None:
    simulation.let_pass(60)
    job_id = api.job(delay=500)
    simulation.let_pass(600, ticking=False)
    found = Explained(api, job_id)
    assert found.first == "scheduler_late"
    assert found.reasons["overdue"] == "due since 2026-03-01T12:09:20.000Z, and waits for the next tick"
    assert "onthedot doctor" in found.what_if["check_ticks"]


def test_7_clocks_jump_over_the_time(api: Api, world: World, simulation: Simulation) -> None:
    world.clock.advance(27 * 86_400)  # noon of 28 March, before clocks in Berlin jump from 2:00 to 3:00
    job_id = api.job(cron="30 2 * * *", timezone="Europe/Berlin", dst={"gap": "skip", "overlap": "once"})
    before = Explained(api, job_id)
    assert before.first == "not_due"
    assert "02:30" in before.reasons["clock_change"]
    world.clock.advance(14 * 3600)
    at_once = Explained(api, job_id)
    assert "2026-03-29T01:00:00.000Z was skipped: dst, clocks jumped over it" in at_once.reasons["clock_change"]
    world.clock.advance(22 * 3600 + 25 * 60)
    simulation.let_pass(600)
    recorded = api.get(f"/v1/jobs/{job_id}/executions").body["executions"]
    assert "dst: clocks jumped over this time" in recorded[-1]["reason"]


def test_8_a_parent_failed(api: Api, world: World) -> None:
    simulation = Simulation(world, [Answer(ok=False, error="no such table", retryable=False)])
    parent = api.job(delay=1, name="extract")
    child = api.job(dependencies=[parent])
    simulation.let_pass(10)
    found = Explained(api, child)
    assert found.first == "failed"
    assert found.reasons["failed"].endswith(f": its parent extract ({parent}) failed: no such table")
    assert found.what_if["redrive"].startswith(
        f"Redrive its parent extract ({parent}) first: this job needs the result of that run."
        " Redriven now, it would not wait for that: it would start at once"
    )
    api.send("POST", "/v1/dead-letters/redrive", ids=[parent])
    simulation.let_pass(10)
    assert Explained(api, parent).first == "succeeded"
    assert Explained(api, child).what_if["redrive"].startswith("Redriven now, it would start at once")


@pytest.mark.parametrize(
    ("bound", "runs", "why"),
    [
        ({"end_at": "2026-03-01T12:05:30Z"}, 5, "its end_at 2026-03-01T12:05:30.000Z has passed"),
        ({"max_runs": 3}, 3, "max_runs 3 is reached"),
    ],
)
def test_9_and_10_the_schedule_has_ended(
    api: Api, simulation: Simulation, bound: dict[str, Any], runs: int, why: str
) -> None:
    job_id = api.job(every=60, **bound)
    simulation.let_pass(30)
    assert Explained(api, job_id).first == "not_due"
    simulation.let_pass(600)
    said = f"the schedule has ended: {runs} runs were made of it, and {why}"
    assert Explained(api, job_id).reasons["completed"] == said


def test_11_it_did_not_start_in_time(api: Api, world: World, simulation: Simulation) -> None:
    simulation.let_pass(60)
    job_id = api.job(delay=500, start_within_seconds=20)
    simulation.let_pass(600, ticking=False)
    simulation.let_pass(120)
    found = Explained(api, job_id)
    assert found.first == "skipped"
    assert "not started within 20 s of its fire time (start_within_seconds)" in found.reasons["skipped"]


def test_12_the_target_is_down_and_retries_are_used_up(api: Api, world: World) -> None:
    simulation = Simulation(world, [DOWN] * 3)
    job_id = api.job(delay=1, retry={"max_retries": 2, "jitter": False})
    simulation.let_pass(60)
    found = Explained(api, job_id)
    assert found.first == "failed"
    assert "HTTP 503" in found.reasons["failed"]
    assert [message for message in found.story if "attempt" in message and "failed" in message][:2] == [
        "attempt 1 failed: HTTP 503",
        "attempt 2 failed: HTTP 503",
    ]
    assert found.story[:2] == ["submitted", "due"]
    assert found.what_if["redrive"] == (
        "Redriven now, it would start at once: no run waits in queue default-medium, with up to 3 attempts."
    )


def test_12_the_target_of_a_schedule_that_has_ended_is_down(api: Api, world: World) -> None:
    """The failing comes first: a reader who sees only the end of the schedule would not look further."""
    simulation = Simulation(world, [Answer(ok=True), *[DOWN] * 4])
    job_id = api.job(every=60, end_at="2026-03-01T12:05:30Z", retry={"max_retries": 0})
    simulation.let_pass(600)
    found = Explained(api, job_id)
    assert found.first == "runs_fail"
    failed = found.reasons["runs_fail"]
    assert re.fullmatch(r"its last 4 runs failed, since 2026-03-01T12:02:0\S+Z: HTTP 503", failed)
    assert found.reasons["completed"].endswith("and its end_at 2026-03-01T12:05:30.000Z has passed")


def test_12_one_failed_run_of_a_schedule_that_has_ended_comes_first_too(api: Api, world: World) -> None:
    simulation = Simulation(world, [Answer(ok=True), DOWN])
    job_id = api.job(every=60, max_runs=2, retry={"max_retries": 0})
    simulation.let_pass(600)
    found = Explained(api, job_id)
    assert (found.first, "runs_fail" in found.reasons, "completed" in found.reasons) == ("last_run_failed", False, True)


def test_12_the_target_of_an_active_schedule_is_down(api: Api, world: World) -> None:
    simulation = Simulation(world, [*[DOWN] * 3, *[Answer(ok=False, error="HTTP 502", error_class="http_502")] * 27])
    job_id = api.job(every=60, retry={"max_retries": 0})
    simulation.let_pass(60 * 4 + 5)
    found = Explained(api, job_id)
    assert found.first == "not_due", "the schedule goes on"
    assert re.fullmatch(
        r"its last 4 runs failed, since 2026-03-01T12:01:0\S+Z: the last: HTTP 502", found.reasons["runs_fail"]
    )
    simulation.let_pass(60 * 26)
    assert found.reasons["runs_fail"] != (said := Explained(api, job_id).reasons["runs_fail"])
    assert re.fullmatch(r"at least its last \d+ runs failed, since \S+Z or before: HTTP 502", said)
    simulation.let_pass(60 * 2)
    assert "runs_fail" not in Explained(api, job_id).reasons, "the target is up again"


def test_13_a_gate_is_paused(api: Api, simulation: Simulation) -> None:
    api.send("PUT", "/v1/gates/stripe", paused=True)
    job_id = api.job(gates=["stripe"], delay=1)
    simulation.let_pass(5)
    found = Explained(api, job_id)
    assert found.first == "gate_stopped"
    assert "gate stripe is paused" in found.reasons["gate_stopped"]
    assert found.what_if["lift_limit"] == "If gate stripe were resumed now, it would start at once."


@pytest.mark.parametrize(
    ("other", "when"), [({"in_flight": 1}, "start when its turn comes"), ({"in_flight": 2}, "start at once")]
)
def test_13_a_resumed_gate_keeps_its_other_limits(
    api: Api, simulation: Simulation, other: dict[str, Any], when: str
) -> None:
    api.send("PUT", "/v1/gates/stripe", paused=True, **other)
    api.job(gates=["stripe"], delay=1)
    job_id = api.job(gates=["stripe"], delay=2)
    simulation.let_pass(5)
    assert Explained(api, job_id).what_if["lift_limit"] == f"If gate stripe were resumed now, it would {when}."


def test_13_a_tenant_is_paused(api: Api, simulation: Simulation) -> None:
    api.send("PUT", "/v1/limits/acme", paused=True)
    job_id = api.job(delay=1)
    simulation.let_pass(5)
    found = Explained(api, job_id)
    assert found.what_if["lift_limit"] == "If tenant acme were resumed now, it would start at once."


def test_14_it_waits_for_its_parents(api: Api) -> None:
    parent, named = api.job(delay=3600), api.job(delay=3600, name="extract")
    child = api.job(dependencies=[parent, named])
    found = Explained(api, child)
    waits = f"{parent}, which is PENDING, extract ({named}), which is PENDING"
    assert found.reasons["waiting_for_parents"] == f"waits for the end of {waits}"


def test_15_its_record_cannot_be_read(api: Api, world: World) -> None:
    job_id = api.job(delay=3600)
    with world.database.transaction() as connection:
        connection.execute("UPDATE runs SET definition = '{' WHERE run_id = ?", (job_id,))
    found = Explained(api, job_id)
    assert found.first == "unreadable"
    assert "its definition cannot be read" in found.reasons["unreadable"]


def test_15_it_was_set_aside(api: Api, world: World) -> None:
    job_id = api.job(delay=3600)
    job = world.store.get(job_id)
    assert job is not None
    assert job.slot is not None
    world.store.set_aside(job_id, job.slot, "KeyError: 'x'", world.clock.now())
    found = Explained(api, job_id)
    assert found.first == "set_aside"
    assert "KeyError" in found.reasons["set_aside"]
    assert "set aside: KeyError: 'x'" in found.story


def test_a_job_that_is_not_due_says_what_a_run_now_would_do(api: Api) -> None:
    once, often = api.job(delay=3600), api.job(every=3600)
    assert Explained(api, once).what_if["run_now"] == (
        "Run now, it would start at once: no run waits in queue default-medium."
        " It would still run at 2026-03-01T13:00:00.000Z too."
    )
    for _ in range(3):
        api.job()
    assert Explained(api, often).what_if["run_now"] == (
        "Run now, it would wait in queue default-medium, where 3 runs of all tenants wait."
        " Its schedule stays as it is: 2026-03-01T13:00:00.000Z."
    )
