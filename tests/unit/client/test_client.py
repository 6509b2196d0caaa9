"""The client on the real API in this process."""

from datetime import UTC, datetime
from typing import Any

import pytest

from onthedot import (
    AmbiguousName,
    Client,
    ClientError,
    Conflict,
    InvalidRequest,
    NotFound,
    PreconditionFailed,
    Status,
    Unauthorized,
)
from onthedot.client import job_request
from onthedot.testing.kit import Kit

URL = "https://x.example/"


def test_the_life_of_a_job(world: Kit) -> None:
    client = world.client
    job = client.schedule(url=URL, cron="0 9 * * *", timezone="Europe/Berlin", name="report")
    assert client.get(job.id).status is Status.ACTIVE
    assert client.pause(job.id).status is Status.PAUSED
    assert client.pause(job.id).status is Status.PAUSED
    assert client.resume(job.id).status is Status.ACTIVE
    assert client.run(job.id).job_id == job.id
    world.clock.advance(1)
    assert [run.trigger for run in client.executions(job.id)] == ["manual"]
    assert client.explain(job.id).reasons[0].message
    assert client.cancel(job.id).status is Status.CANCELLED
    with pytest.raises(Conflict):
        client.resume(job.id)
    client.delete(job.id)
    with pytest.raises(NotFound):
        client.get(job.id)


def test_a_job_is_changed_in_part(world: Kit) -> None:
    client = world.client
    job = client.schedule(url=URL, cron="0 9 * * *", name="report", max_runs=5, tags={"a": "b"})
    changed = client.change(job.id, cron="0 8 * * *", max_runs=None, retry=1, if_version=job.version)
    assert (changed.cron, changed.max_runs, changed.name, changed.tags) == ("0 8 * * *", None, "report", {"a": "b"})
    assert (changed.retry["max_retries"], changed.version, changed.changes[0].action) == (1, 2, "change")
    assert client.get(job.id) == changed
    with pytest.raises(PreconditionFailed, match="has version 2, not 1"):
        client.change(job.id, priority="HIGH", if_version=1)
    assert client.change(job.id, handler="send-email", payload=None).target["handler"] == "send-email"


def test_a_change_that_the_api_refuses_names_its_fields(world: Kit) -> None:
    job = world.client.schedule(url=URL, cron="0 9 * * *")
    wrong: Any = {"cron": "61 * * * *"}, {"priority": None}, {"delay": 5}, {}
    for options, field in zip(wrong, ("cron", "priority", "delay", "body"), strict=True):
        with pytest.raises(InvalidRequest) as caught:
            world.client.change(job.id, **options)
        assert [problem.field for problem in caught.value.details] == [field]
    with pytest.raises(NotFound):
        world.client.change("job_none", name="n")
    assert world.client.get(job.id).version == 1


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


def test_executions_are_read_page_by_page_and_by_status(world: Kit) -> None:
    job = world.client.schedule(url=URL, every=1, max_runs=250, retry=0)
    world.reply_next(*[400] * 3)
    world.clock.advance(300)
    assert len(list(world.client.executions(job.id))) == 250
    assert len(list(world.client.executions(job.id, status="FAILED"))) == 3


def test_a_job_is_named_by_its_name(world: Kit) -> None:
    client = world.client
    report = client.schedule(url=URL, every=10, max_runs=3, retry=0, name="report")
    client.schedule(url=URL, every=10, max_runs=1, name="report-2")
    once = client.schedule(url=URL, name="once")
    world.reply_next(400)
    world.clock.advance(60)
    assert {run.job_id for run in client.executions(job="report")} == {report.id}
    assert {run.job_id for run in client.executions("once")} == {once.id}
    [failed] = client.dead_letters()
    name = "report" if failed.job_id == report.id else "once"
    assert [run.id for run in client.dead_letters(job=name)] == [failed.id]
    assert [cause.count for cause in client.dead_letter_causes(job=name).causes] == [1]
    assert client.redrive(job=name, dry_run=True).matched == 1
    with pytest.raises(NotFound, match="there is no job 'nothing'"):
        next(client.executions(job="nothing"))
    client.schedule(url=URL, every=60, name="report")
    with pytest.raises(AmbiguousName, match=f"2 jobs are called 'report'.*{report.id}"):
        next(client.executions(job="report"))


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


def test_a_batch_a_workflow_and_a_preview(world: Kit) -> None:
    good, bad = world.client.batch([job_request(url=URL), job_request(url="nonsense")])
    assert isinstance(bad, ClientError)
    assert not isinstance(good, ClientError)
    flow = world.client.workflow(
        [
            job_request(url="https://x.example/a", key="a"),
            job_request(url="https://x.example/b", key="b", depends_on=["a"]),
        ],
        name="flow",
    )
    world.settle()
    done = world.client.get_workflow(flow.id)
    assert {one.key: one.status for one in done.jobs} == {"a": "SUCCEEDED", "b": "SUCCEEDED"}
    times = world.client.preview(cron="0 9 * * *", timezone="Europe/Berlin", count=2)
    assert [one.time.hour for one in times] == [8, 8]


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


def test_a_wrong_token_is_refused(world: Kit) -> None:
    stranger = Client(token="otd_wrong", transport=world.client._transport)
    with pytest.raises(Unauthorized):
        stranger.get("job_1")
