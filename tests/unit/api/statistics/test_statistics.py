"""Ended runs are counted by steps of a range of time, for the caller's tenant only."""

from typing import Any

import pytest

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.lifecycle import Failure
from onthedot.core.ports import Moved
from onthedot.core.records import Record
from onthedot.statistics.counters import BOUNDS_MS
from tests.builders import NOON, World, a_run, the_start_of
from tests.unit.api.kit import Api


def moved(world: World, move: Any) -> Record:
    outcome = world.store.move(move)
    assert isinstance(outcome, Moved)
    assert outcome.run is not None
    return outcome.run


def run_once(world: World, *, late_ms: int = 0, fails: bool = False, **fields: Any) -> Record:
    """Run a job of `acme` now. It starts so late, and ends in the same moment."""
    run = a_run(world.clock).due_in(-late_ms / 1000).having(**fields).dispatched().stored_in(world.store)
    now = world.clock.now()
    started = moved(world, the_start_of(run, now))
    if fails:
        failure = Failure("HTTP 503 from the target", "http_503")
        return moved(world, lifecycle.fail(started, now, failure=failure, why="w", deployment=world.deployment))
    return moved(world, lifecycle.succeed(started, now, None, world.deployment))


def statistics(api: Api, query: str = "") -> Any:
    response = api.get(f"/v1/statistics{query}")
    assert response.status == 200, response.body
    return response.body


def test_the_last_hour_is_shown_by_minutes(api: Api, world: World) -> None:
    run_once(world, late_ms=30)
    world.clock.advance(120)
    run_once(world, fails=True)
    found = statistics(api)
    assert (found["step_seconds"], found["bounds_ms"]) == (60, list(BOUNDS_MS))
    assert [step["time"] for step in found["steps"] if step["succeeded"] or step["failed"]] == [
        "2026-03-01T12:00:00.000Z",
        "2026-03-01T12:02:00.000Z",
    ]
    total = found["total"]
    assert (total["succeeded"], total["failed"], total["skipped"], total["cancelled"]) == (1, 1, 0, 0)
    assert (total["lateness"]["max_ms"], sum(total["lateness"]["counts"])) == (30, 2)


def test_a_range_is_shown_by_the_steps_that_the_caller_names(api: Api, world: World) -> None:
    run_once(world)
    world.clock.advance(3 * 3600)
    run_once(world)
    found = statistics(api, "?from=2026-03-01T00:30:00Z&to=2026-03-02T00:00:00Z&step=3600")
    assert (found["from"], found["to"]) == ("2026-03-01T00:00:00.000Z", "2026-03-02T00:00:00.000Z")
    assert len(found["steps"]) == 24
    assert [step["succeeded"] for step in found["steps"]][11:17] == [0, 1, 0, 0, 1, 0]
    assert statistics(api, f"?from={NOON // 1000 - 60}&to={NOON // 1000 + 60}")["total"]["succeeded"] == 1


def test_an_offset_may_be_written_into_a_query_as_it_is(api: Api) -> None:
    found = statistics(api, "?from=2026-03-01T12:00:00+02:00&to=2026-03-01T11:00:00Z")
    assert (found["from"], found["to"]) == ("2026-03-01T10:00:00.000Z", "2026-03-01T11:00:00.000Z")


def test_only_runs_of_the_priority_are_counted(api: Api, world: World) -> None:
    run_once(world, priority=Priority.HIGH)
    run_once(world)
    assert statistics(api, "?priority=HIGH")["total"]["succeeded"] == 1
    assert statistics(api)["total"]["succeeded"] == 2


def test_another_tenant_sees_its_own_runs_only(api: Api, world: World) -> None:
    run_once(world)
    run_once(world, tenant="onthedot")
    assert statistics(api.called_by("other"))["total"]["succeeded"] == 0
    assert statistics(api.called_by("acme", "viewer"))["total"]["succeeded"] == 1


def test_without_runs_all_numbers_are_zero_and_no_lateness_is_known(api: Api) -> None:
    total = statistics(api)["total"]
    assert total["lateness"] == {"p50_ms": None, "p99_ms": None, "max_ms": None, "counts": [0] * (len(BOUNDS_MS) + 1)}


@pytest.mark.parametrize(
    ("query", "field", "says"),
    [
        ("step=61", "step", "give 60, 300, 3600 or 86400"),
        ("step=000000060999", "step", "give 60, 300, 3600 or 86400"),
        ("step=minute", "step", "give 60, 300, 3600 or 86400"),
        ("from=yesterday", "from", "is not a time"),
        ("from=2026-03-02T00:00:00Z", "from", "is not before the end"),
        ("from=2025-01-01T00:00:00Z", "from", "35 days"),
        ("from=2026-02-20T00:00:00Z&step=60", "step", "give 3600 or more"),
        ("priority=URGENT", "priority", "give 'HIGH', 'MEDIUM' or 'LOW'"),
        ("until=1", "until", "unknown field"),
    ],
)
def test_a_query_that_cannot_be_answered_is_refused_by_the_name_of_its_field(
    api: Api, query: str, field: str, says: str
) -> None:
    response = api.get(f"/v1/statistics?{query}")
    assert response.status == 422
    [problem] = response.body["error"]["details"]
    assert problem["field"] == field
    assert says in problem["message"]
