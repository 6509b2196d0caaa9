"""Lists, acts on many jobs, gates and the state of a stage by the client, on the real API in this process."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from onthedot import AsyncClient, NotFound, Status, Unavailable
from onthedot.testing.kit import Kit, kit
from tests.unit.cli.screens.documents import an_overview
from tests.unit.client.scripted import LOST, a_client, a_reply

URL = "https://x.example/"
STATISTICS = {
    "from": "2026-11-18T11:00:00.000Z",
    "to": "2026-11-18T12:00:00.000Z",
    "step_seconds": 60,
    "bounds_ms": [1, 2],
    "steps": [{"time": "2026-11-18T11:00:00.000Z", "succeeded": 3, "lateness": {"p50_ms": 4, "counts": [1, 2, 0]}}],
    "total": {"succeeded": 3, "failed": 1, "lateness": {"p99_ms": 88}},
}


@pytest.fixture
def world() -> Iterator[Kit]:
    with kit() as opened:
        yield opened


def test_jobs_are_listed_page_by_page_and_by_filters(world: Kit) -> None:
    for number in range(130):
        world.client.schedule(url=URL, delay=3600, name=f"remind-{number}")
    report = world.client.schedule(url=URL, every=60, name="report", tags={"team": "a"})
    assert len(list(world.client.list())) == 131
    [found] = world.client.list(kind="recurring", name="rep", tag="team=a")
    assert (found.id, found.status, found.every, found.kind) == (report.id, Status.ACTIVE, 60, "recurring")
    assert [one.id for one in world.client.list(full_name="report")] == [report.id]
    assert list(world.client.list(full_name="rep")) == []
    with pytest.raises(TypeError, match="did you mean 'status'"):
        list(world.client.list(stauts="FAILED"))  # type: ignore[call-arg]


def test_many_jobs_are_changed_step_by_step(world: Kit) -> None:
    ids = [world.client.schedule(url=URL, every=60, name=f"n-{number}").id for number in range(150)]
    counted = list(world.client.bulk("pause", name="n-", dry_run=True))
    assert sum(step.matched for step in counted) == 150
    steps = list(world.client.bulk("pause", name="n-"))
    assert (sum(step.done for step in steps), len(steps)) == (150, 2)
    [step] = world.client.bulk("resume", ids=[ids[0], "job_none"])
    assert (step.done, step.failed, step.failures[0].id, step.failures[0].code) == (1, 1, "job_none", "not_found")


def test_only_an_act_that_may_be_repeated_is_repeated() -> None:
    done: dict[str, Any] = {"matched": 1, "done": 1, "failed": 0, "failures": [], "next_cursor": None}
    client, transport, _ = a_client(LOST, a_reply(done))
    assert [step.done for step in client.bulk("pause", name="n")] == [1]
    client, transport, _ = a_client(LOST)
    with pytest.raises(Unavailable):
        list(client.bulk("run", name="n"))
    assert len(transport.sent) == 1


def test_the_life_of_a_gate(world: Kit) -> None:
    made = world.client.set_gate("stripe", in_flight=5)
    assert (made.name, made.in_flight, made.paused) == ("stripe", 5, False)
    assert world.client.gate("stripe:42").in_flight == 5
    assert [gate.name for gate in world.client.gates()] == ["stripe"]
    world.client.delete_gate("stripe")
    with pytest.raises(NotFound):
        world.client.gate("stripe")
    with pytest.raises(ValueError, match="empty"):
        world.client.gate("")


def test_the_queues_of_a_stage(world: Kit) -> None:
    world.client.schedule(url=URL)
    found = world.client.queues()
    assert {queue.pool for queue in found}
    assert all(queue.error is None and queue.waiting is not None for queue in found)


def test_an_overview() -> None:
    client, transport, _ = a_client(a_reply(an_overview(unknown=["due"], due=None)))
    found = client.overview()
    assert found.hour is not None
    assert (found.hour.failed, found.hour.lateness.p99_ms, len(found.hour.minutes)) == (23, 88, 60)
    assert (found.queues[0].waiting, found.workers["alive"], found.due, found.unknown) == (3, 3, [], ["due"])
    assert found.failures[0]["name"] == "remind-17"
    assert transport.sent[0].path == "/v1/overview"


def test_statistics_of_a_range() -> None:
    client, transport, _ = a_client(a_reply(STATISTICS), a_reply(STATISTICS))
    found = client.statistics(datetime(2026, 11, 18, 11, tzinfo=UTC), "2026-11-18T12:00:00Z", step=60, priority="HIGH")
    assert transport.sent[0].query == {
        "from": "2026-11-18T11:00:00+00:00",
        "to": "2026-11-18T12:00:00Z",
        "step": "60",
        "priority": "HIGH",
    }
    assert (found.step_seconds, found.steps[0].lateness.counts, found.total.failed) == (60, [1, 2, 0], 1)
    client.statistics()
    assert transport.sent[1].query == {}


def test_a_run_with_a_payload_of_its_own(world: Kit) -> None:
    job = world.client.schedule(url=URL, every=3600, payload={"of": "the job"})
    world.client.run(job.id, payload={"of": "this run"})
    world.settle()
    assert [call.json() for call in world.calls] == [{"of": "this run"}]


def test_the_async_client_does_the_same(world: Kit) -> None:
    token = world.client._headers["Authorization"].removeprefix("Bearer ")
    job = world.client.schedule(url=URL, every=60, name="report")

    async def use() -> None:
        async with AsyncClient(token=token, transport=world.client._transport) as client:
            assert [one.id async for one in client.list(name="rep")] == [job.id]
            assert [step.done async for step in client.bulk("pause", ids=[job.id])] == [1]
            assert await client.queues()
            assert (await client.set_gate("slow", per_second=2)).per_second == 2
            assert [gate.name async for gate in client.gates()] == ["slow"]
            assert (await client.gate("slow")).burst in (None, 1)
            await client.delete_gate("slow")

    asyncio.run(use())
