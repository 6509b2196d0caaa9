"""Why a job has not run: every state has a reason, said in words."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.domain.reports.explain import QueueState, Reason, explain
from onthedot.domain.runs.coming_fire import coming_fire
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.schedules.recurrence import Recurrence
from onthedot.domain.schedules.schedule import EverySchedule, Schedule
from onthedot.domain.workers.pools import DEFAULT_POOLS, Pools
from onthedot.ports import Answer
from onthedot.use_cases.jobs.explain_job import explain_job
from tests.builders import NOON, VirtualClock, World, a_run, a_world
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import SHELL, Api, a_worker


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def a_record(status: Status, **fields: Any) -> Record:
    return replace(a_run(VirtualClock()).build(), status=status, **fields)


def a_job(status: Status = Status.ACTIVE, **fields: Any) -> Record:
    recurrence = Recurrence(Schedule(EverySchedule(60, NOON)))
    return a_record(status, **{"kind": Kind.RECURRING, "recurrence": recurrence, "fire_at": NOON + 60_000, **fields})


def said(record: Record, backlog: QueueState | None = None, latest: Record | None = None) -> list[tuple[str, str]]:
    return [(reason.code, reason.message) for reason in explain(record, NOON, backlog, latest)]


RUNS: list[tuple[Record, list[tuple[str, str]]]] = [
    (a_record(Status.PENDING, fire_at=NOON + 1), [("not_due", "not due until 2026-03-01T12:00:00.001Z")]),
    (
        a_record(Status.DISPATCHED, fire_at=NOON + 1),
        [("not_due", "sent, not due until 2026-03-01T12:00:00.001Z")],
    ),
    (a_record(Status.PENDING), [("overdue", "due since 2026-03-01T12:00:00.000Z, and waits for the next tick")]),
    (a_record(Status.PAUSED), [("paused", "the job is paused; resume it")]),
    (
        a_record(Status.PENDING, attempt=1, fire_at=NOON + 9, reason="boom"),
        [
            ("retrying", "retry at 2026-03-01T12:00:00.009Z after: boom"),
            ("not_due", "not due until 2026-03-01T12:00:00.009Z"),
        ],
    ),
    (
        a_record(Status.DISPATCHED, fire_at=NOON + 9, reason="overlap: waits for run x"),
        [
            ("held_back", "overlap: waits for run x"),
            ("not_due", "sent, not due until 2026-03-01T12:00:00.009Z"),
        ],
    ),
    (
        a_record(Status.RUNNING, attempt=2, worker="w", started_at=NOON, cancel_requested=NOON + 5),
        [
            ("running", "attempt 2 runs since 2026-03-01T12:00:00.000Z by worker w"),
            ("cancel_requested", "it was asked to stop at 2026-03-01T12:00:00.005Z"),
        ],
    ),
    (a_record(Status.SUCCEEDED, finished_at=NOON), [("succeeded", "succeeded at 2026-03-01T12:00:00.000Z")]),
    (
        a_record(Status.FAILED, finished_at=NOON, reason="gave up"),
        [("failed", "failed at 2026-03-01T12:00:00.000Z: gave up")],
    ),
    (a_record(Status.SKIPPED, reason="paused"), [("skipped", "skipped: paused")]),
    (a_record(Status.CANCELLED, reason="cancelled"), [("cancelled", "cancelled: cancelled")]),
]


@pytest.mark.parametrize(("run", "reasons"), RUNS)
def test_a_run_says_what_it_waits_for_or_how_it_ended(run: Record, reasons: list[tuple[str, str]]) -> None:
    assert said(run) == reasons


def test_a_run_in_its_queue_tells_how_long_the_queue_is() -> None:
    ((code, message),) = said(a_record(Status.DISPATCHED), QueueState(41, 2500))
    assert code == "queued"
    assert "queue default-medium; 41 waiting there, the oldest for 2.5 s" in message
    ((_, unknown),) = said(a_record(Status.DISPATCHED), QueueState(41))
    assert unknown.endswith("41 waiting there")


@pytest.mark.parametrize(
    ("job", "code", "words"),
    [
        (a_job(), "not_due", "2026-03-01T12:01:00.000Z"),
        (a_job(fire_at=NOON - 1), "overdue", "due since"),
        (a_job(Status.PAUSED), "paused", "resume"),
        (a_job(Status.COMPLETED, stamped=7), "completed", "7 runs"),
        (a_job(Status.CANCELLED, reason="cancelled"), "cancelled", "cancelled"),
    ],
)
def test_a_recurring_job_says_where_it_stands(job: Record, code: str, words: str) -> None:
    ((found, message),) = said(job)
    assert found == code
    assert words in message


def test_a_recurring_job_tells_of_its_last_run_too() -> None:
    skipped = a_record(
        Status.SKIPPED, kind=Kind.SKIPPED_RANGE, skipped_until=NOON, skipped_count=3, reason="misfire: missed"
    )
    _, (code, message) = said(a_job(), latest=skipped)
    assert code == "last_run_skipped"
    assert "3 fire times" in message
    assert message.endswith("misfire: missed")


@pytest.mark.parametrize("status", [*Status])
@pytest.mark.parametrize("kind", [*Kind])
def test_every_status_of_every_kind_has_a_reason(status: Status, kind: Kind) -> None:
    assert said(a_job(status, kind=kind))
    coming_fire(a_job(status, kind=kind), NOON)


def test_a_job_explains_itself_through_its_life(api: Api, world: World) -> None:
    def codes(job_id: str) -> list[str]:
        return [reason["code"] for reason in api.get(f"/v1/jobs/{job_id}/explain").body["reasons"]]

    far, near, again = api.job(delay=3600), api.job(), api.job(every=60)
    assert (codes(far), codes(near), codes(again)) == (["not_due"], ["queued"], ["not_due"])
    assert "; 1 waiting there" in api.get(f"/v1/jobs/{near}/explain").body["reasons"][0]["message"]
    simulation = Simulation(world, [Answer(ok=False, error="boom", retryable=False)])
    simulation.let_pass(61)
    assert (codes(near), codes(again)) == (["failed"], ["not_due", "last_run_succeeded"])
    api.call("POST", f"/v1/jobs/{again}/pause")
    simulation.let_pass(60)
    explained = api.get(f"/v1/jobs/{again}/explain").body
    assert (explained["job_id"], explained["status"]) == (again, "PAUSED")
    assert [reason["code"] for reason in explained["reasons"]] == ["paused", "last_run_skipped"]


def reasons(api: Api, job_id: str) -> list[tuple[str, str]]:
    found = api.get(f"/v1/jobs/{job_id}/explain").body["reasons"]
    return [(reason["code"], reason["message"]) for reason in found]


def test_a_run_that_waits_for_a_pull_worker_says_that_none_is_alive(api: Api, world: World) -> None:
    job_id = api.job(target=SHELL)
    (first, message), (second, _) = reasons(api, job_id)
    assert (first, second) == ("no_worker", "queued")
    assert message == "no worker of pool pull is alive; start one"
    worker = a_worker(api)
    assert [code for code, _ in reasons(api, job_id)] == ["queued"]
    worker.beat(stopping=True)
    assert reasons(api, job_id)[0] == ("no_worker", message)
    worker.beat()
    world.clock.advance(36)
    assert reasons(api, job_id)[0] == ("no_worker", message)


@pytest.mark.parametrize(
    ("fields", "lacking"),
    [
        ({"target": {"type": "python", "handler": "send"}}, "capability 'python:send'"),
        ({"target": SHELL, "requirements": {"capabilities": ["grpc"], "cpu": 2}}, "cpu (1 of 2)"),
        ({"target": SHELL, "requirements": {"memory_mb": 600}}, "memory_mb (512 of 600)"),
    ],
)
def test_a_run_that_no_live_worker_can_do_says_what_they_lack(api: Api, fields: dict[str, Any], lacking: str) -> None:
    worker = a_worker(api)
    api.send("POST", "/v1/workers/register", capabilities=["tea"], worker_id="far")
    (code, message), _ = reasons(api, api.job(**fields))
    assert code == "no_worker"
    assert message == f"none of the 2 live workers of pool pull can run it; worker {worker.worker_id} lacks {lacking}"


def test_a_run_says_that_only_other_tenants_have_workers(api: Api) -> None:
    job_id = api.job(target=SHELL)
    a_worker(api.called_by("other"))
    assert reasons(api, job_id)[0] == ("no_worker", "the live workers of pool pull serve other tenants only; start one")
    a_worker(api)
    assert [code for code, _ in reasons(api, job_id)] == ["queued"]


@pytest.mark.parametrize(
    ("requirements", "used", "lacking"),
    [
        ({}, {"concurrency": 4}, "concurrency (0 of 1)"),
        ({"cpu": 1}, {"concurrency": 1, "cpu": 0.5}, "cpu (0.5 of 1)"),
        ({"memory_mb": 500}, {"concurrency": 1, "memory_mb": 100}, "memory_mb (412 of 500)"),
    ],
)
def test_a_run_that_waits_for_room_says_which(
    api: Api, requirements: dict[str, Any], used: dict[str, Any], lacking: str
) -> None:
    worker = a_worker(api, resources={"concurrency": 4, "cpu": 1, "memory_mb": 512})
    job_id = api.job(target=SHELL, requirements=requirements)
    assert [code for code, _ in reasons(api, job_id)] == ["queued"]
    worker.beat(running=["job_other"], used=used)
    (code, message), _ = reasons(api, job_id)
    assert code == "no_room"
    full = f"worker {worker.worker_id} has too little {lacking} free"
    assert message == f"none of the 1 live workers of pool pull that can run it has room now; {full}"
    worker.beat()
    assert [code for code, _ in reasons(api, job_id)] == ["queued"]


def test_a_run_that_must_be_alone_waits_for_an_idle_worker(api: Api, world: World) -> None:
    worker = a_worker(api)
    job_id = api.job(target=SHELL)
    worker.take()
    worker.take_back()
    assert "no_room" not in [code for code, _ in reasons(api, job_id)]
    worker.beat(running=["job_other"], used={"concurrency": 1})
    code, message = reasons(api, job_id)[0]
    assert (code, "must run alone" in message, "is idle now" in message) == ("no_room", True, True)


@pytest.mark.parametrize("delay", [0, 3600])
def test_a_run_of_a_pool_that_the_stage_no_longer_has_says_so(api: Api, world: World, delay: int) -> None:
    job_id = api.job(target=SHELL, delay=delay)
    without = replace(world, deployment=replace(world.deployment, pools=Pools(DEFAULT_POOLS[:2])))
    assert explain_job(without.engine, "acme", job_id).reasons[0] == Reason(
        "no_pool", "this stage has no pool 'pull' any more; it has default, long"
    )


def test_a_run_that_was_handed_to_a_worker_says_so(api: Api, world: World) -> None:
    worker, job_id = a_worker(api), api.job(target=SHELL)
    api.send("POST", f"/v1/jobs/{job_id}/execute", worker_id=worker.worker_id)
    assert reasons(api, job_id)[0] == (
        "assigned",
        f"assigned to worker {worker.worker_id}, which gets it with its next lease",
    )
    world.clock.advance(36)
    assert "which is LOST" in reasons(api, job_id)[0][1]


def test_a_recurring_jobs_last_run_says_that_nobody_can_do_it(api: Api, world: World) -> None:
    job_id = api.job(target=SHELL, every=60)
    world.clock.advance(60)
    assert "last_run_no_worker" in [code for code, _ in reasons(api, job_id)]


@pytest.mark.parametrize("fields", [{}, {"target": SHELL, "delay": 3600}])
def test_workers_are_looked_at_only_where_they_explain_something(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    def refuse() -> None:
        raise AssertionError("looked at")

    job_id = api.job(**fields)
    monkeypatch.setattr(world.registry, "workers", refuse)
    assert reasons(api, job_id)[0][0] in {"queued", "not_due"}
