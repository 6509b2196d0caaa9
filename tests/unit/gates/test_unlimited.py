"""A run without gates asks none, but the limits of its tenant hold for it."""

import random
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.finish import finish_run
from onthedot.core.patience import ASK_MS
from onthedot.core.ports import Answer
from onthedot.core.records import Definition, Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.start import Started, Verdict, Waits, start_run
from onthedot.gates.limits import TenantLimits
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import HttpTarget
from onthedot.wiring.points import FeaturePoints
from tests.builders import World
from tests.unit.api.gates.kit import stored


def _request() -> JobRequest:
    return JobRequest(Definition(HttpTarget("http://x/")), "f", Priority.MEDIUM, DEFAULT_POOL, delay_ms=0)


def begin(world: World) -> tuple[Record, Started | Verdict]:
    run = submit_job(world.engine, "acme", _request())
    [received] = world.received()
    return run, start_run(world.engine, received.message, "worker")


class Asked:
    """The points of the core, which note what they are asked."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.names.append(name)
        return getattr(FeaturePoints(), name)


def test_a_run_without_gates_parents_and_limits_passes_no_feature(world: World) -> None:
    asked = Asked()
    submit_job(world.engine, "acme", _request())
    engine = replace(world.engine, points=asked)
    [received] = world.received()
    started = start_run(engine, received.message, "worker")
    assert isinstance(started, Started)
    finish_run(engine, started.run, started.definition, Answer(ok=True), chance=random.Random(1))
    assert asked.names == ["why_closed", "is_limited"]


def test_a_run_without_gates_keeps_to_the_limits_of_its_tenant(world: World) -> None:
    world.engine.limits.put("acme", TenantLimits(in_flight=0))
    assert isinstance(begin(world)[1], Waits)


@pytest.mark.parametrize(("stopped_ms", "starts"), [(ASK_MS, True), (ASK_MS + 1, False)])
def test_a_worker_that_was_stopped_after_it_read_the_limits_reads_them_again(
    world: World, monkeypatch: pytest.MonkeyPatch, stopped_ms: int, starts: bool
) -> None:
    find, stops = world.engine.limits.find, [stopped_ms]

    def stopped(tenant: str) -> TenantLimits | None:
        found = find(tenant)
        if stops:
            world.engine.limits.put("acme", TenantLimits(paused=True))
            world.clock.advance(stops.pop() / 1000)
        return found

    monkeypatch.setattr(world.engine.limits, "find", stopped)
    run, verdict = begin(world)
    assert isinstance(verdict, Started) is starts
    assert stored(world, run.run_id).status is (Status.RUNNING if starts else Status.PENDING)
