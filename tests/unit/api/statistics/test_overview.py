"""The overview: one call that says how the runs of a tenant are, of which each part can fail alone."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import replace
from typing import Any, cast

import pytest

import onthedot
from onthedot.api.http import Request
from onthedot.api.router import handle
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import TENANT
from onthedot.engine import Engine
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.statistics import hold_ups
from onthedot.statistics import overview as latest_failures
from onthedot.statistics import overview as parts
from onthedot.statistics.counters import MinuteCounters
from onthedot.statistics.store import StatisticsStore
from onthedot.workers.records import Load, Resources, WorkerRecord
from tests.builders import World
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.gates.kit import park
from tests.unit.api.kit import ACME, SHELL, Api
from tests.unit.api.statistics.test_statistics import run_once


def overview(engine: Engine) -> Any:
    response = handle(engine, Request("GET", "/v1/overview", principal=ACME))
    assert response.status == 200, response.body
    return response.body


def test_a_new_tenant_is_idle(world: World) -> None:
    found = overview(world.engine)
    assert (found["tenant"], found["role"], found["principal"]) == ("acme", "admin", "a test")
    assert (found["version"], found["engine"], found["stage"]) == (onthedot.__version__, "embedded", "serve")
    assert (found["status"], found["last_tick"], found["tick_age_seconds"]) == ("starting", None, None)
    assert found["summary"] == {"state": "idle", "message": "No run ended in the last hour."}
    assert len(found["hour"]["minutes"]) == len(found["due"]) == 60
    assert found["workers"] == {"alive": 0, "silent": 0, "running": 0, "concurrency": 0}
    assert found["limits"] == {"in_flight": None, "per_second": None}
    assert (found["next"], found["failures"], found["causes"], found["hold_ups"]) == ([], [], [], [])
    assert "unknown" not in found


def test_the_last_hour_is_counted_by_minutes_and_older_runs_are_not(world: World) -> None:
    run_once(world)
    world.clock.advance(3601)
    run_once(world)
    world.clock.advance(60)
    run_once(world, fails=True)
    found = overview(world.engine)["hour"]
    assert (found["succeeded"], found["failed"], found["lateness"]["max_ms"]) == (1, 1, 0)
    assert [minute["failed"] for minute in found["minutes"][-2:]] == [0, 1]
    assert found["minutes"][-1]["time"] <= found["to"]
    assert found["from"] == found["minutes"][0]["time"]


def test_the_largest_cause_of_the_hour_is_in_the_summary(world: World, api: Api) -> None:
    job = api.job(name="remind", at="2026-03-01T13:00:00Z")
    for _ in range(3):
        last = run_once(world, fails=True)
    found = overview(world.engine)
    assert found["summary"] == {
        "state": "failing",
        "message": "3 runs in the last hour, 3 failed. The largest cause: HTTP 503 (3).",
    }
    [cause] = found["causes"]
    assert (cause["cause"], cause["count"], cause["successes_since"]) == ("HTTP 503", 3, 0)
    assert len(found["failures"]) == 3
    failure = next(one for one in found["failures"] if one["execution_id"] == last.run_id)
    assert (failure["target"], failure["error"]) == ("POST http://127.0.0.1:9/callback", "HTTP 503 from the target")
    assert found["next"] == [] or found["next"][0]["job_id"] == job


def test_the_runs_of_the_coming_hour_and_the_next_fires_are_shown(world: World, api: Api) -> None:
    soon = api.job(name="soon", delay=90)
    api.job(name="every", every=600)
    found = overview(world.engine)
    assert sum(minute["runs"] for minute in found["due"]) == 6
    assert found["next"][0] == {"job_id": soon, "name": "soon", "fire_time": "2026-03-01T12:01:30.000Z"}
    assert [one["name"] for one in found["next"]] == ["soon", *["every"] * 4]


def test_runs_that_wait_at_a_gate_or_at_the_limits_of_the_tenant_are_hold_ups(world: World, api: Api) -> None:
    world.gates.put("acme", "stripe", GateLimits(in_flight=2, paused=True, put_at=1772366340000, put_by="alice"))
    world.gates.put("acme", "customer", GateLimits(in_flight=1))
    world.limits.put("acme", TenantLimits(in_flight=3))
    park(world, api.job(), "stripe")
    park(world, api.job(), "customer:42")
    park(world, api.job(), TENANT)
    found = overview(world.engine)
    assert [(one["code"], one["gate"], one["runs"]) for one in found["hold_ups"]] == [
        ("limit_full", None, 1),
        ("gate_stopped", "stripe", 1),
        ("gate_full", "customer", None),
    ]
    assert [one["message"] for one in found["hold_ups"]] == [
        "1 run waits at the limits of tenant acme: 0 of 3 places are in use",
        "gate stripe is paused (set by alice at 2026-03-01T11:59:00.000Z), so nothing starts; 1 run waits",
        "runs wait at keys of gate customer, such as customer:42",
    ]
    assert found["hold_ups"][1]["since"] == "2026-03-01T12:00:00.000Z"
    assert found["summary"]["state"] == "held_up"
    assert found["limits"] == {"in_flight": 3, "per_second": None}


def test_a_pull_pool_with_runs_and_without_a_worker_is_a_hold_up(world: World, api: Api) -> None:
    api.job(target=SHELL)
    world.clock.advance(10)
    [found] = overview(world.engine)["hold_ups"]
    assert (found["code"], found["pool"], found["runs"]) == ("no_worker", "pull", 1)
    assert found["message"] == "1 run waits: no worker of pool pull is alive; start one"
    now = world.clock.now()
    worker = WorkerRecord("w1", "acme", "pull", frozenset({"shell"}), Resources(4), now, now)
    world.registry.register(worker)
    world.clock.advance(10)
    found = overview(world.engine)
    assert found["hold_ups"] == []
    assert found["workers"] == {"alive": 1, "silent": 0, "running": 0, "concurrency": 4}


def test_a_run_that_no_live_worker_can_run_is_a_hold_up_with_what_they_lack(world: World, api: Api) -> None:
    now = world.clock.now()
    world.registry.register(WorkerRecord("w1", "acme", "pull", frozenset({"shell"}), Resources(4), now, now))
    able = WorkerRecord("w2", "acme", "pull", frozenset({"shell", "gpu"}), Resources(4), now, now)
    world.registry.register(able)
    jobs = [api.job(name="train", target=SHELL, requirements={"capabilities": ["gpu"]}) for _ in range(2)]
    world.registry.register(replace(able, load=Load(stopping=True)))
    assert overview(world.engine)["hold_ups"] == [], "they may be on their way to a worker"
    world.clock.advance(10)
    [found] = overview(world.engine)["hold_ups"]
    why = "the only live worker of pool pull cannot run train: w1 lacks capability 'gpu'"
    assert (found["code"], found["message"], found["pool"], found["runs"]) == ("no_worker", why, "pull", 2)
    assert (found["name"], found["since"]) == ("train", "2026-03-01T12:00:00.000Z")
    assert found["job_id"] in jobs


def test_a_run_for_which_able_workers_have_no_room_is_a_hold_up_after_a_minute(world: World, api: Api) -> None:
    now = world.clock.now()
    busy = Load(("job_1",), Resources(1, 1))
    world.registry.register(WorkerRecord("w1", "acme", "pull", frozenset({"shell"}), Resources(1), now, now, busy))
    for _ in range(2):
        api.job(target=SHELL, name="encode")
    world.clock.advance(10)
    assert overview(world.engine)["hold_ups"] == []
    world.clock.advance(55)
    now = world.clock.now()
    world.registry.register(WorkerRecord("w1", "acme", "pull", frozenset({"shell"}), Resources(1), now, now, busy))
    found = next(one for one in overview(world.engine)["hold_ups"] if one["code"] == "no_room")
    why = "the only live worker of pool pull that can run encode has no room now"
    assert found["message"].startswith(f"{why}; the only place of worker w1 is in use")
    assert (found["runs"], found["name"]) == (2, "encode")


def test_an_old_queue_is_a_hold_up(world: World, api: Api) -> None:
    api.job()
    world.clock.advance(60)
    assert overview(world.engine)["hold_ups"] == []
    world.clock.advance(30)
    [found] = overview(world.engine)["hold_ups"]
    assert (found["code"], found["pool"], found["runs"]) == ("queue_old", "default", 1)
    where = "in the queue of pool default, priority MEDIUM, the oldest for 90 s: the workers cannot keep up"
    assert found["message"] == f"1 run waits {where}"


@pytest.mark.parametrize("is_pulled", [True, False])
@pytest.mark.parametrize("has_workers", [True, False])
def test_waiting_runs_of_other_tenants_are_no_hold_up(
    world: World, api: Api, is_pulled: bool, has_workers: bool
) -> None:
    """Queues are shared: only the runs of the reader's own tenant are its trouble."""
    now = world.clock.now()
    if has_workers:
        world.registry.register(WorkerRecord("w", "other", "pull", frozenset({"shell"}), Resources(1), now, now))
    for _ in range(3):
        api.called_by("other").job(**({"target": SHELL} if is_pulled else {}))
    run_once(world, fails=True)
    world.clock.advance(90)
    found = overview(world.engine)
    assert sum(one["waiting"] for one in found["queues"]) == 3
    assert found["hold_ups"] == []
    assert found["summary"]["state"] == "failing", "its own trouble is not hidden"
    other = handle(world.engine, Request("GET", "/v1/overview", principal=replace(ACME, tenant="other"))).body
    assert [one["runs"] for one in other["hold_ups"]] == [3]


def test_the_own_runs_of_a_tenant_are_counted_in_a_queue_of_many(world: World, api: Api) -> None:
    for _ in range(3):
        api.called_by("other").job()
    world.clock.advance(30)
    api.job()
    world.clock.advance(90)
    [found] = overview(world.engine)["hold_ups"]
    assert found["message"].startswith("1 run waits in the queue of pool default, priority MEDIUM, the oldest for 90 s")


def test_a_run_whose_worker_was_lost_says_so(world: World, api: Api) -> None:
    now = world.clock.now()
    world.registry.register(WorkerRecord("w1", "acme", "pull", frozenset({"shell"}), Resources(1), now, now))
    world.registry.register(WorkerRecord("w2", "other", "pull", frozenset({"shell"}), Resources(1), now, now + 10**9))
    api.job(target=SHELL)
    world.clock.advance(120)
    [found] = overview(world.engine)["hold_ups"]
    none = "no live worker of pool pull serves tenant acme"
    assert found["message"] == f"1 run waits: {none}: worker w1 was lost 2 min ago; start one"


def test_the_reads_of_sent_runs_are_bounded(world: World, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold_ups, "LOOKED_AT", 2)
    for _ in range(4):
        api.job()
    world.clock.advance(90)
    [found] = overview(world.engine)["hold_ups"]
    assert found["message"].startswith("more than 2 runs wait in the queue of pool default, priority MEDIUM")


def test_a_cause_that_was_counted_among_some_failures_only_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        run_once(world, fails=True)
    monkeypatch.setattr(latest_failures, "LOOKED_AT", 4)
    message = overview(world.engine)["summary"]["message"]
    assert "5 failed" in message
    assert "(4 of the latest 4)" in message


class Broken:
    """A part of the engine each of whose calls fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def fail(*_: Any, **__: Any) -> Any:
            raise self._error

        return fail


@pytest.mark.parametrize("error", [Unavailable("throttled"), RuntimeError("a bug")])
@pytest.mark.parametrize(
    ("port", "unknown"),
    [
        ("statistics", ["hour"]),
        ("registry", ["workers"]),
        ("tick_times", ["status", "last_tick", "tick_age_seconds"]),
        ("gates", ["hold_ups"]),
        ("limits", ["hold_ups", "limits"]),
    ],
)
def test_a_part_that_cannot_be_read_is_null_and_named_and_the_rest_is_shown(
    world: World, port: str, unknown: list[str], error: Exception
) -> None:
    whole = set(overview(world.engine))
    broken: dict[str, Any] = {port: Broken(error)}
    found = overview(replace(world.engine, known_parts={}, known_ticks=[], **broken))
    assert found["unknown"] == unknown
    assert {name for name in unknown if found[name] is None} == set(unknown)
    assert set(found) == whole | {"unknown"}
    assert found["summary"]["message"]


def test_a_part_that_takes_too_long_does_not_hold_up_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    class Slow:
        def read(self, tenant: str, first: int, end: int) -> Sequence[MinuteCounters]:
            assert release.wait(60)
            return []

    def until_one_is_left(futures: Sequence[Future[Any]], seconds: float) -> None:
        """Say that the time is over when all parts but the slow one are read, however busy the machine is."""
        assert seconds == parts.LONGEST_SECONDS
        for _ in zip(range(len(futures) - 1), as_completed(futures), strict=False):
            pass

    monkeypatch.setattr(parts, "wait", until_one_is_left)
    try:
        found = overview(replace(world.engine, known_parts={}, statistics=cast(StatisticsStore, Slow())))
    finally:
        release.set()
    assert "hour" in found["unknown"]
    assert found["summary"]["message"].startswith("The runs of the last hour cannot be counted now.")


class CountedStatistics:
    def __init__(self, engine: Engine) -> None:
        self.store = engine.statistics
        self.reads = 0

    def read(self, tenant: str, first: int, end: int) -> Sequence[MinuteCounters]:
        self.reads += 1
        return self.store.read(tenant, first, end)


def test_a_process_reads_a_part_again_only_after_some_seconds_and_for_each_tenant(world: World) -> None:
    counted = CountedStatistics(world.engine)
    engine = replace(world.engine, statistics=cast(StatisticsStore, counted))
    for _ in range(5):
        overview(engine)
    assert counted.reads == 1
    handle(engine, Request("GET", "/v1/overview", principal=replace(ACME, tenant="other")))
    assert counted.reads == 2
    world.clock.advance(2)
    overview(engine)
    assert counted.reads == 3


def test_late_ticks_are_the_most_urgent(world: World) -> None:
    run_once(world)
    found = overview(world.engine)
    world.clock.advance(600)
    late = overview(world.engine)
    assert (found["status"], found["summary"]["state"]) == ("starting", "on_time")
    assert (late["status"], late["summary"]["state"]) == ("late", "late")
    none = "No tick has ended since the scheduler started 9 min ago; due runs wait."
    assert late["summary"]["message"].startswith(f"{none} 1 run in the last")


def test_while_ticks_are_late_overdue_fires_are_due_and_the_tick_of_the_process_before_is_shown(
    world: World, api: Api
) -> None:
    simulation = Simulation(world)
    api.job(name="often", every=60)
    api.job(name="once", delay=600)
    simulation.let_pass(61)
    last = world.clock.now()
    world.clock.advance(3000)
    engine = replace(world.engine, ticking_since=world.clock.now(), known_parts={}, known_ticks=[])
    world.clock.advance(300)
    found = overview(engine)
    assert (found["status"], found["summary"]["state"]) == ("late", "late")
    assert found["summary"]["message"].startswith("No tick has ended since the scheduler started 5 min ago")
    assert found["last_tick"] is not None
    assert found["tick_age_seconds"] >= (world.clock.now() - last) // 1000
    assert {one["name"] for one in found["next"]} == {"often", "once"}
    assert found["due"][0]["runs"] >= 2
    assert sum(minute["runs"] for minute in found["due"]) > 60
