"""The calls of an operator by the client, on the real API in this process."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from onthedot import AsyncClient, InvalidRequest, NotFound, Status, Unavailable
from onthedot.client import operations
from onthedot.testing.kit import Kit, kit
from tests.unit.client.scripted import LOST, a_client, a_refusal, a_reply

URL = "https://x.example/"


@pytest.fixture
def world() -> Iterator[Kit]:
    with kit() as opened:
        yield opened


def now_of(world: Kit) -> datetime:
    found = world.client.health().time
    assert found is not None
    return found


def test_a_backfill_goes_on_where_the_call_before_ended(world: Kit) -> None:
    job = world.client.schedule(url=URL, cron="0 0 1 1 *")
    end = now_of(world)
    first = world.client.backfill(job.id, datetime(2000, 1, 1, tzinfo=UTC), end, limit=3)
    assert (first.created, first.next_from) == (3, datetime(2003, 1, 1, tzinfo=UTC))
    assert first.next_from is not None
    rest = world.client.backfill(job.id, first.next_from, end, limit=1000)
    assert (rest.created, rest.left, rest.next_from) == (first.left, 0, None)
    assert world.client.backfill(job.id, "2000-01-01T00:00:00Z", end, limit=3).existing == 3


def test_a_forecast_counts_the_runs_of_a_minute(world: Kit) -> None:
    world.client.schedule(url=URL, delay=timedelta(seconds=90))
    found = world.client.forecast(5)
    assert (len(found.minutes), sum(one.runs for one in found.minutes), found.truncated) == (5, 1, False)


def test_a_forecast_names_the_heaviest_jobs(world: Kit) -> None:
    job = world.client.schedule(url=URL, every=10, name="quick")
    heaviest = world.client.forecast(1_500).minutes[30].heaviest
    assert [(one.job_id, one.name, one.runs) for one in heaviest] == [(job.id, "quick", 6)]


def test_a_job_has_its_outcome_and_its_changes_as_values(world: Kit) -> None:
    job = world.client.schedule(url=URL, every=60, name="report")
    world.client.pause(job.id)
    found = world.client.get(job.id)
    assert [change.action for change in found.changes] == ["pause", "create"]
    assert found.changes[0].at.tzinfo is not None
    why = world.client.explain(job.id)
    assert (why.name, why.timeline[-1].message.split()[0]) == ("report", "paused")
    assert why.what_if[0].action == "resume"
    world.reply_next(400)
    once = world.client.schedule(url=URL, retry=0)
    world.settle()
    outcome = world.client.get(once.id).last_outcome
    assert outcome is not None
    assert (outcome.execution_id, outcome.status) == (once.id, Status.FAILED)


def test_dead_letters_are_read_page_by_page_and_run_again(world: Kit) -> None:
    world.reply_next(*[400] * 120)
    jobs = {world.client.schedule(url=URL, retry=0).id for _ in range(120)}
    world.settle()
    assert {one.job_id for one in world.client.dead_letters()} == jobs
    chosen = sorted(jobs)[:2]
    assert world.client.redrive(chosen).redriven == 2
    refused = world.client.redrive(["job_none"])
    assert (refused.redriven, [one.id for one in refused.refused]) == (0, ["job_none"])
    assert world.client.redrive(everything=True).redriven > 0


@pytest.mark.parametrize("options", [{}, {"dry_run": True}, {"cursor": "abc"}, {"name": None}])
def test_a_redrive_must_say_which(options: Any) -> None:
    client, transport, _ = a_client()
    with pytest.raises(InvalidRequest, match="everything=True") as caught:
        client.redrive(**options)
    assert (caught.value.code, [one.field for one in caught.value.details]) == ("invalid_request", ["ids"])
    assert transport.sent == []


def test_everything_is_the_api_s_all() -> None:
    client, transport, _ = a_client(a_reply({"redriven": 1}))
    client.redrive(everything=True)
    assert transport.sent[0].body == {"all": True}


def test_dead_letters_by_filters_and_their_causes(world: Kit) -> None:
    world.reply_next(*[400] * 3, 410)
    jobs = [world.client.schedule(url=URL, retry=0, name=f"report-{number}").id for number in range(3)]
    world.settle()
    gone = world.client.schedule(url=URL, retry=0).id
    world.settle()
    client, first = world.client, datetime(2000, 1, 1, tzinfo=UTC)
    assert {one.job_id for one in client.dead_letters(name="report")} == set(jobs)
    assert {one.name for one in client.dead_letters(name="report-1")} == {"report-1"}
    assert [one.target for one in client.dead_letters(job=gone)] == [f"POST {URL}"]
    assert list(client.dead_letters(until=first)) == []
    found = client.dead_letter_causes(since=first)
    assert [(one.cause, one.count, one.jobs) for one in found.causes] == [("HTTP 400", 3, 3), ("HTTP 410", 1, 1)]
    assert (found.causes[1].job_id, found.truncated) == (gone, False)
    dry = client.redrive(cause="HTTP 400", dry_run=True)
    assert (dry.redriven, dry.matched, {one.id for one in dry.runs}, dry.cursor) == (0, 3, set(jobs), None)
    assert client.redrive(cause="HTTP 400", since=first).redriven == 3
    assert [one.job_id for one in client.dead_letters(cause="HTTP 410")] == [gone]


def test_a_filter_that_does_not_exist_is_refused_before_the_call() -> None:
    client, transport, _ = a_client()
    with pytest.raises(TypeError, match="did you mean 'since'"):
        client.redrive(sinse="1h")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="no time zone"):
        client.dead_letter_causes(since=datetime(2026, 3, 1))  # noqa: DTZ001
    assert transport.sent == []


def test_a_dry_run_whose_reply_was_lost_is_repeated() -> None:
    client, transport, _ = a_client(LOST, a_reply({"redriven": 0, "matched": 5, "left": True, "next_cursor": "c"}, 202))
    found = client.redrive(name="a", dry_run=True)
    assert (found.matched, found.cursor, len(transport.sent)) == (5, "c", 2)
    assert transport.sent[1].body == {"name": "a", "dry_run": True}


def test_executions_by_worker_and_status() -> None:
    run = {"execution_id": "job_1", "job_id": "job_1", "status": "RUNNING", "name": "a", "target": "python a"}
    client, transport, _ = a_client(
        a_reply({"executions": [], "next_cursor": "c"}), a_reply({"executions": [run], "next_cursor": None})
    )
    (found,) = client.executions(worker="w", status="RUNNING")
    assert (found.name, found.target) == ("a", "python a")
    assert transport.sent[1].query == {"worker_id": "w", "status": "RUNNING", "limit": "100", "cursor": "c"}


def test_workers_by_status() -> None:
    worker = {"worker_id": "w", "pool": "p", "status": "LOST", "used": {}, "heartbeat_at": "2026-03-01T12:00:00.000Z"}
    client, transport, _ = a_client(a_reply({"workers": [worker]}))
    (found,) = client.workers("LOST")
    assert (found.id, found.heartbeat_at) == ("w", datetime(2026, 3, 1, 12, tzinfo=UTC))
    assert transport.sent[0].query == {"status": "LOST"}


def test_a_late_scheduler_is_an_answer_and_no_failure() -> None:
    client, transport, _ = a_client(a_reply({"status": "late", "tick_age_seconds": 600}, 503))
    assert (client.health().status, len(transport.sent)) == ("late", 1)


def test_a_failing_gateway_is_a_failure() -> None:
    client, transport, _ = a_client(*[a_refusal(502, "bad_gateway")] * 4)
    with pytest.raises(Unavailable):
        client.health()
    assert len(transport.sent) == 4


def test_a_redrive_whose_reply_was_lost_is_not_repeated() -> None:
    client, transport, _ = a_client(LOST)
    with pytest.raises(Unavailable):
        client.redrive(["job_1"])
    assert len(transport.sent) == 1


def test_a_backfill_whose_reply_was_lost_is_repeated() -> None:
    client, transport, _ = a_client(LOST, a_reply({"created": 0, "existing": 1, "left": 0}))
    assert client.backfill("job_1", 0, 60).existing == 1
    assert transport.sent[1].body == {"from": 0, "to": 60, "limit": 100, "priority": "LOW"}


def test_the_async_client_does_the_same(world: Kit) -> None:
    world.reply_next(400)
    world.client.schedule(url=URL, retry=0)
    world.settle()
    token = world.client._headers["Authorization"].removeprefix("Bearer ")

    async def use() -> None:
        async with AsyncClient(token=token, transport=world.client._transport) as client:
            assert (await client.health()).status
            assert (await client.forecast(3)).minutes
            assert await client.workers() == []
            (dead,) = [one async for one in client.dead_letters()]
            assert [one.id async for one in client.executions(status="FAILED")] == [dead.id]
            assert [one.cause for one in (await client.dead_letter_causes()).causes] == ["HTTP 400"]
            assert (await client.redrive(cause="HTTP 400", dry_run=True)).matched == 1
            assert (await client.redrive([dead.id])).redriven == 1
            assert await client.call(operations.workers(None)) == []
            with pytest.raises(NotFound):
                await client.backfill("job_none", 0, 60)

    asyncio.run(use())
