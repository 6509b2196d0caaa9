"""Why a job has not run: every state has a reason."""

from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.pools import DEFAULT_POOLS, Pools
from onthedot.core.ports import Answer
from onthedot.core.records import Kind, Record, Status
from onthedot.jobs.explain import QueueState, explain
from onthedot.jobs.explain_job import explain_job
from onthedot.jobs.shown import coming_fire
from onthedot.schedules.schedule import EverySchedule, Recurrence, Schedule
from tests.builders import NOON, VirtualClock, World, a_run
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import SHELL, Api, PullWorker, a_worker


def a_record(status: Status, **fields: Any) -> Record:
    return replace(a_run(VirtualClock()).build(), status=status, **fields)


def a_job(status: Status = Status.ACTIVE, **fields: Any) -> Record:
    recurrence = Recurrence(Schedule(EverySchedule(60, NOON)))
    return a_record(status, **{"kind": Kind.RECURRING, "recurrence": recurrence, "due_at": NOON + 60_000, **fields})


def codes(record: Record, backlog: QueueState | None = None, latest: Record | None = None) -> list[str]:
    return [reason.code for reason in explain(record, NOON, backlog, latest)]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (a_record(Status.PENDING, due_at=NOON + 1), ["not_due"]),
        (a_record(Status.DISPATCHED, due_at=NOON + 1), ["not_due"]),
        (a_record(Status.PENDING), ["overdue"]),
        (a_record(Status.DISPATCHED), ["queued"]),
        (a_record(Status.PAUSED), ["paused"]),
        (a_record(Status.PENDING, attempt=1, due_at=NOON + 9, reason="boom"), ["retrying", "not_due"]),
        (a_record(Status.DISPATCHED, attempt=1, reason="boom"), ["retrying", "queued"]),
        (a_record(Status.DISPATCHED, due_at=NOON + 9, reason="overlap: waits"), ["held_back", "not_due"]),
        (a_record(Status.RUNNING, attempt=2, worker="w", cancel_requested=NOON + 5), ["running", "cancel_requested"]),
        (a_record(Status.SUCCEEDED, finished_at=NOON), ["succeeded"]),
        (a_record(Status.FAILED, finished_at=NOON, reason="gave up"), ["failed"]),
        (a_record(Status.SKIPPED, reason="paused"), ["skipped"]),
        (a_record(Status.CANCELLED, reason="cancelled"), ["cancelled"]),
        (a_job(), ["not_due"]),
        (a_job(due_at=NOON - 1), ["overdue"]),
        (a_job(Status.PAUSED), ["paused"]),
        (a_job(Status.COMPLETED, stamped=7), ["completed"]),
        (a_job(Status.CANCELLED, reason="cancelled"), ["cancelled"]),
    ],
)
def test_a_record_says_what_it_waits_for_or_how_it_ended(record: Record, expected: list[str]) -> None:
    assert codes(record) == expected


def test_a_run_in_its_queue_tells_how_long_the_queue_is() -> None:
    (reason,) = explain(a_record(Status.DISPATCHED), NOON, QueueState(41, 1_494_400), None)
    assert "default-medium; 41 waiting" in reason.message
    assert "25 min" in reason.message


def test_a_recurring_job_tells_of_its_last_run_too() -> None:
    skipped = a_record(
        Status.SKIPPED, kind=Kind.SKIPPED_RANGE, skipped_until=NOON, skipped_count=3, reason="misfire: x"
    )
    _, last = explain(a_job(), NOON, None, skipped)
    assert last.code == "last_run_skipped"
    assert "3 fire times" in last.message
    assert last.message.endswith("misfire: x")


@pytest.mark.parametrize("status", [*Status])
@pytest.mark.parametrize("kind", [*Kind])
def test_every_status_of_every_kind_has_a_reason(status: Status, kind: Kind) -> None:
    assert codes(a_job(status, kind=kind))
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


def first(api: Api, job_id: str) -> tuple[str, str]:
    return reasons(api, job_id)[0]


def test_a_run_that_waits_for_a_pull_worker_says_that_none_is_alive(api: Api, world: World) -> None:
    job_id = api.job(target=SHELL)
    assert [code for code, _ in reasons(api, job_id)] == ["no_worker", "queued"]
    worker = a_worker(api)
    assert [code for code, _ in reasons(api, job_id)] == ["queued"]
    worker.beat(stopping=True)
    assert first(api, job_id)[0] == "no_worker"
    worker.beat()
    world.clock.advance(36)
    assert f"worker {worker.worker_id} was lost at 2026-03-01T12:00:00.000Z" in first(api, job_id)[1]
    worker.beat(stopped=True)
    assert f"worker {worker.worker_id} stopped at 2026-03-01T12:00:36.000Z" in first(api, job_id)[1]


@pytest.mark.parametrize(
    ("fields", "lacking"),
    [
        ({"target": {"type": "python", "handler": "send"}}, "capability 'python:send'"),
        ({"target": SHELL, "requirements": {"capabilities": ["grpc"], "cpu": 2}}, "cpu (1 of 2)"),
        ({"target": SHELL, "requirements": {"memory_mb": 600}}, "memory_mb (512 of 600)"),
        ({"target": SHELL, "requirements": {"storage_mb": 600}}, "storage_mb (0 of 600)"),
    ],
)
def test_a_run_that_no_live_worker_can_do_says_what_they_lack(api: Api, fields: dict[str, Any], lacking: str) -> None:
    worker = a_worker(api)
    api.send("POST", "/v1/workers/register", capabilities=["tea"], worker_id="far")
    (code, message), _ = reasons(api, api.job(**fields))
    assert code == "no_worker"
    assert message.endswith(f"worker {worker.worker_id} lacks {lacking}")


def test_a_run_says_that_only_other_tenants_have_workers(api: Api) -> None:
    job_id = api.job(target=SHELL)
    a_worker(api.called_by("other"))
    code, message = first(api, job_id)
    assert (code, "tenant acme" in message) == ("no_worker", True)
    a_worker(api)
    assert [code for code, _ in reasons(api, job_id)] == ["queued"]


def test_a_run_names_the_lost_worker_of_its_tenant_that_could_run_it(api: Api, world: World) -> None:
    lost = a_worker(api, "gpu")
    world.clock.advance(10)
    lost.beat()
    job_id = api.job(target=SHELL, requirements={"capabilities": ["gpu"]})
    world.clock.advance(90)
    a_worker(api.called_by("other"), "gpu")
    assert f"worker {lost.worker_id} was lost at 2026-03-01T12:00:10.000Z" in first(api, job_id)[1]
    unable = a_worker(api)
    code, message = first(api, job_id)
    assert code == "no_worker"
    assert f"{unable.worker_id} lacks capability 'gpu'" in message
    assert message.endswith(f"worker {lost.worker_id} could, and was lost at 2026-03-01T12:00:10.000Z")


@pytest.mark.parametrize(
    ("requirements", "used", "lacking"),
    [
        ({}, {"concurrency": 4}, ["all 4 places"]),
        ({"cpu": 1}, {"concurrency": 4, "cpu": 0.5}, ["all 4 places", "cpu (0.5 of 1)"]),
        ({"memory_mb": 500}, {"concurrency": 1, "memory_mb": 100}, ["memory_mb (412 of 500)"]),
        ({"storage_mb": 500}, {"concurrency": 1, "storage_mb": 600}, ["storage_mb (400 of 500)"]),
    ],
)
def test_a_run_that_waits_for_room_says_which(
    api: Api, requirements: dict[str, Any], used: dict[str, Any], lacking: list[str]
) -> None:
    worker = a_worker(api, resources={"concurrency": 4, "cpu": 1, "memory_mb": 512, "storage_mb": 1000})
    job_id = api.job(target=SHELL, requirements=requirements)
    assert [code for code, _ in reasons(api, job_id)] == ["queued"]
    worker.beat(running=["job_other"], used=used)
    code, message = first(api, job_id)
    assert code == "no_room"
    assert all(part in message for part in lacking)
    worker.beat()
    assert [code for code, _ in reasons(api, job_id)] == ["queued"]


def take_place(worker: PullWorker) -> str:
    """Let the worker take the one run that waits, and say so. Return the id of the run."""
    run_id = str(worker.take()["execution_id"])
    worker.beat(running=[run_id], used={"concurrency": 1})
    return run_id


def test_a_run_that_waits_for_a_place_names_the_run_that_has_it(api: Api) -> None:
    worker = a_worker(api, resources={"concurrency": 1})
    holder = api.job(target=SHELL, name="encode-0")
    take_place(worker)
    waiting = api.job(target=SHELL, name="encode-1")
    code, message = first(api, waiting)
    assert (code, "encode-0 runs there since 2026-03-01T12:00:00.000Z" in message) == ("no_room", True)
    _, (code, message) = reasons(api, holder)
    assert (code, "1 run of all tenants waits" in message) == ("worker_full", True)


def test_a_run_that_has_a_place_of_a_worker_with_more_places_holds_up_none(api: Api) -> None:
    worker = a_worker(api, resources={"concurrency": 2})
    holder = api.job(target=SHELL)
    take_place(worker)
    api.job(target=SHELL)
    assert [code for code, _ in reasons(api, holder)] == ["running"]


def test_a_run_of_another_tenant_that_has_the_place_is_not_named(api: Api, world: World) -> None:
    worker = a_worker(api, resources={"concurrency": 1})
    api.job(target=SHELL, name="secret")
    run_id = take_place(worker)
    other = api.called_by("other")
    waiting = other.job(target=SHELL)
    shared = world.registry.find(worker.worker_id)
    assert shared is not None
    world.registry.register(replace(shared, tenant=None))
    message = reasons(other, waiting)[0][1]
    assert message.endswith("is in use; it has runs of other tenants")
    assert run_id not in message


def test_a_run_that_has_ended_since_the_last_heartbeat_is_not_named(api: Api) -> None:
    worker = a_worker(api, resources={"concurrency": 1})
    api.job(target=SHELL, name="encode-0")
    run = worker.take()
    worker.beat(running=[run["execution_id"]], used={"concurrency": 1})
    worker.complete(run)
    assert reasons(api, api.job(target=SHELL))[0][1].endswith(" is in use")


def test_a_run_that_must_be_alone_waits_for_an_idle_worker(api: Api, world: World) -> None:
    worker = a_worker(api)
    job_id = api.job(target=SHELL)
    worker.take()
    worker.take_back()
    assert "no_room" not in [code for code, _ in reasons(api, job_id)]
    worker.beat(running=["job_other"], used={"concurrency": 1})
    code, message = reasons(api, job_id)[0]
    assert (code, "must run alone" in message, "is not idle now" in message) == ("no_room", True, True)


@pytest.mark.parametrize("delay", [0, 3600])
def test_a_run_of_a_pool_that_the_stage_no_longer_has_says_so(api: Api, world: World, delay: int) -> None:
    job_id = api.job(target=SHELL, delay=delay)
    without = replace(world, deployment=replace(world.deployment, pools=Pools(DEFAULT_POOLS[:2])))
    assert explain_job(without.engine, "acme", job_id).reasons[0].code == "no_pool"


def test_a_run_that_was_handed_to_a_worker_says_so(api: Api, world: World) -> None:
    worker, job_id = a_worker(api), api.job(target=SHELL)
    api.send("POST", f"/v1/jobs/{job_id}/execute", worker_id=worker.worker_id)
    code, message = first(api, job_id)
    assert (code, worker.worker_id in message) == ("assigned", True)
    world.clock.advance(36)
    assert "LOST" in first(api, job_id)[1]


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
