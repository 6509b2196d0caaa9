"""Why a job has not run: every state has a reason, said in words."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.moves import Expect, Move, applied
from onthedot.core.pools import DEFAULT_POOLS, Pools
from onthedot.core.ports import Answer
from onthedot.core.reasons import Reason
from onthedot.core.records import Kind, Record, Status
from onthedot.jobs.change_log import ChangeAction, ChangeNote, noted
from onthedot.jobs.explain import QueueState, explain
from onthedot.jobs.explain_job import explain_job
from onthedot.jobs.shown import coming_fire
from onthedot.schedules.schedule import EverySchedule, Recurrence, Schedule
from tests.builders import NOON, VirtualClock, World, a_run, a_world
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import SHELL, Api, PullWorker, a_worker


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
    return a_record(status, **{"kind": Kind.RECURRING, "recurrence": recurrence, "due_at": NOON + 60_000, **fields})


def said(record: Record, backlog: QueueState | None = None, latest: Record | None = None) -> list[tuple[str, str]]:
    return [(reason.code, reason.message) for reason in explain(record, NOON, backlog, latest)]


RUNS: list[tuple[Record, list[tuple[str, str]]]] = [
    (a_record(Status.PENDING, due_at=NOON + 1), [("not_due", "not due until 2026-03-01T12:00:00.001Z")]),
    (
        a_record(Status.DISPATCHED, due_at=NOON + 1),
        [("not_due", "sent, not due until 2026-03-01T12:00:00.001Z")],
    ),
    (a_record(Status.PENDING), [("overdue", "due since 2026-03-01T12:00:00.000Z, and waits for the next tick")]),
    (a_record(Status.PAUSED), [("paused", "the job is paused; resume it")]),
    (
        a_record(Status.PENDING, attempt=1, due_at=NOON + 9, reason="boom"),
        [
            ("retrying", "retry at 2026-03-01T12:00:00.009Z after: boom"),
            ("not_due", "not due until 2026-03-01T12:00:00.009Z"),
        ],
    ),
    (
        a_record(Status.DISPATCHED, due_at=NOON + 9, reason="overlap: waits for run x"),
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
    ((code, message),) = said(a_record(Status.DISPATCHED), QueueState(41, 1_494_400))
    assert code == "queued"
    assert message.endswith("queue default-medium; 41 waiting there, of all tenants, the oldest for 25 min")
    ((_, unknown),) = said(a_record(Status.DISPATCHED), QueueState(41))
    assert unknown.endswith("41 waiting there, of all tenants")


@pytest.mark.parametrize("kind", [Kind.ONE_OFF, Kind.RECURRING])
@pytest.mark.parametrize(("by", "words"), [("ci-deploy", "it was paused by ci-deploy"), (None, "it was paused")])
def test_a_paused_job_says_who_paused_it_and_when(kind: Kind, by: str | None, words: str) -> None:
    job = a_job(kind=kind)
    for number, action in enumerate((ChangeAction.PAUSE, ChangeAction.RESUME, ChangeAction.PAUSE, ChangeAction.CHANGE)):
        move = noted(job, Move(job.run_id, Expect(frozenset()), job.status, {}), ChangeNote(NOON + number, action, by))
        job = applied(job, move)
    paused = replace(job, status=Status.PAUSED)
    assert said(paused) == [("paused", f"{words} at 2026-03-01T12:00:00.002Z; resume it")]


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (NOON + 1, "retry at 2026-03-01T12:00:00.001Z after: boom"),
        (NOON, "the retry is due since 2026-03-01T12:00:00.000Z, after: boom"),
    ],
)
def test_a_retry_whose_time_is_over_is_due_since_then(at: int, words: str) -> None:
    (code, message), _ = said(a_record(Status.DISPATCHED, attempt=1, due_at=at, reason="boom"))
    assert (code, message) == ("retrying", words)


@pytest.mark.parametrize(
    ("job", "code", "words"),
    [
        (a_job(), "not_due", "2026-03-01T12:01:00.000Z"),
        (a_job(due_at=NOON - 1), "overdue", "due since"),
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
    lost = f"worker {worker.worker_id} was lost at 2026-03-01T12:00:00.000Z"
    assert reasons(api, job_id)[0] == ("no_worker", f"no worker of pool pull is alive: {lost}; start one")
    worker.beat(stopped=True)
    ended = f"worker {worker.worker_id} stopped at 2026-03-01T12:00:36.000Z"
    assert reasons(api, job_id)[0] == ("no_worker", f"no worker of pool pull is alive: {ended}; start one")


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
    assert message == f"none of the 2 live workers of pool pull can run it; worker {worker.worker_id} lacks {lacking}"


def test_a_run_says_that_only_other_tenants_have_workers(api: Api) -> None:
    job_id = api.job(target=SHELL)
    a_worker(api.called_by("other"))
    assert reasons(api, job_id)[0] == ("no_worker", "no live worker of pool pull serves tenant acme; start one")
    a_worker(api)
    assert [code for code, _ in reasons(api, job_id)] == ["queued"]


def test_a_run_names_the_lost_worker_of_its_tenant_that_could_run_it(api: Api, world: World) -> None:
    lost = a_worker(api, "gpu")
    world.clock.advance(10)
    lost.beat()
    job_id = api.job(target=SHELL, requirements={"capabilities": ["gpu"]})
    world.clock.advance(90)
    a_worker(api.called_by("other"), "gpu")
    gone = f"worker {lost.worker_id} {{}}was lost at 2026-03-01T12:00:10.000Z"
    none = "no live worker of pool pull serves tenant acme"
    assert reasons(api, job_id)[0] == ("no_worker", f"{none}: {gone.format('')}; start one")
    unable = a_worker(api)
    only = "the only live worker of pool pull that serves tenant acme cannot run it"
    lacks = f"{unable.worker_id} lacks capability 'gpu'"
    assert reasons(api, job_id)[0] == ("no_worker", f"{only}: {lacks}; {gone.format('could, and ')}")
    a_worker(api)
    message = reasons(api, job_id)[0][1]
    assert message.startswith("none of the 2 live workers of pool pull that serve tenant acme can run it; worker ")
    assert message.endswith(gone.format("could, and "))


def test_the_only_live_worker_of_a_pool_is_called_so(api: Api) -> None:
    worker = a_worker(api)
    job_id = api.job(target=SHELL, requirements={"cpu": 2})
    lacks = f"{worker.worker_id} lacks cpu (1 of 2)"
    assert reasons(api, job_id)[0] == ("no_worker", f"the only live worker of pool pull cannot run it: {lacks}")


@pytest.mark.parametrize(
    ("requirements", "used", "lacking"),
    [
        ({}, {"concurrency": 4}, "all 4 places of worker {} are in use"),
        (
            {"cpu": 1},
            {"concurrency": 4, "cpu": 0.5},
            "all 4 places of worker {} are in use; it has too little cpu (0.5 of 1) free",
        ),
        ({"cpu": 1}, {"concurrency": 1, "cpu": 0.5}, "worker {} has too little cpu (0.5 of 1) free"),
        (
            {"memory_mb": 500},
            {"concurrency": 1, "memory_mb": 100},
            "worker {} has too little memory_mb (412 of 500) free",
        ),
        (
            {"storage_mb": 500},
            {"concurrency": 1, "storage_mb": 600},
            "worker {} has too little storage_mb (400 of 500) free",
        ),
    ],
)
def test_a_run_that_waits_for_room_says_which(
    api: Api, requirements: dict[str, Any], used: dict[str, Any], lacking: str
) -> None:
    worker = a_worker(api, resources={"concurrency": 4, "cpu": 1, "memory_mb": 512, "storage_mb": 1000})
    job_id = api.job(target=SHELL, requirements=requirements)
    assert [code for code, _ in reasons(api, job_id)] == ["queued"]
    worker.beat(running=["job_other"], used=used)
    (code, message), _ = reasons(api, job_id)
    assert code == "no_room"
    full = lacking.format(worker.worker_id)
    assert message == f"the only live worker of pool pull that can run it has no room now; {full}"
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
    place = f"the only place of worker {worker.worker_id} is in use"
    only = "the only live worker of pool pull that can run it has no room now"
    held = "encode-0 runs there since 2026-03-01T12:00:00.000Z"
    assert reasons(api, waiting)[0] == ("no_room", f"{only}; {place}; {held}")
    behind = f"{place}, and 1 run of all tenants waits in queue pull-medium"
    assert reasons(api, holder)[1] == ("worker_full", behind)
    api.job(target=SHELL)
    assert "2 runs of all tenants wait" in reasons(api, holder)[1][1]


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
    a_worker(api).beat(running=["job_third"], used={"concurrency": 1})
    assert reasons(api, job_id)[0][1].startswith("none of the 2 live workers of pool pull that can run it is idle now")


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


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "the fire time at 2026-03-01T12:00:00.000Z was skipped: misfire"),
        (3, "3 fire times from 2026-03-01T12:00:00.000Z to 2026-03-01T12:02:00.000Z were skipped: misfire"),
    ],
)
def test_a_range_of_skipped_times_says_how_many(number: int, said: str) -> None:
    until = NOON + (number - 1) * 60_000
    run = a_run(VirtualClock()).having(fire_time=NOON, skipped_count=number, skipped_until=until, reason="misfire")
    skipped = replace(run.build(), kind=Kind.SKIPPED_RANGE, status=Status.SKIPPED)
    assert explain(skipped, NOON, None, None) == [Reason("skipped", said)]
