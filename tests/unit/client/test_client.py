"""The client on the real API in this process, the twin for event loops, and what `import onthedot` loads."""

import asyncio
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import onthedot
from onthedot import (
    AmbiguousName,
    AsyncClient,
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
from onthedot.testing.kit import Kit, kit
from onthedot.testing.transport import InProcessTransport
from tests.unit.client.scripted import JOB, LOST, ScriptedTransport, a_client, a_refusal, a_reply


@pytest.fixture
def world() -> Iterator[Kit]:
    with kit() as opened:
        yield opened


def test_the_life_of_a_job(world: Kit) -> None:
    client = world.client
    job = client.schedule(url="https://x.example/", cron="0 9 * * *", timezone="Europe/Berlin", name="report")
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
    job = client.schedule(url="https://x.example/", cron="0 9 * * *", name="report", max_runs=5, tags={"a": "b"})
    changed = client.change(job.id, cron="0 8 * * *", max_runs=None, retry=1, if_version=job.version)
    assert (changed.cron, changed.max_runs, changed.name, changed.tags) == ("0 8 * * *", None, "report", {"a": "b"})
    assert (changed.retry["max_retries"], changed.version, changed.changes[0].action) == (1, 2, "change")
    assert client.get(job.id) == changed
    with pytest.raises(PreconditionFailed, match="has version 2, not 1"):
        client.change(job.id, priority="HIGH", if_version=1)
    assert client.change(job.id, handler="send-email", payload=None).target["handler"] == "send-email"


def test_a_change_that_the_api_refuses_names_its_fields(world: Kit) -> None:
    job = world.client.schedule(url="https://x.example/", cron="0 9 * * *")
    wrong: Any = {"cron": "61 * * * *"}, {"priority": None}, {"delay": 5}, {}
    for options, field in zip(wrong, ("cron", "priority", "delay", "body"), strict=True):
        with pytest.raises(InvalidRequest) as caught:
            world.client.change(job.id, **options)
        assert [problem.field for problem in caught.value.details] == [field]
    with pytest.raises(NotFound):
        world.client.change("job_none", name="n")
    assert world.client.get(job.id).version == 1


def test_the_example_of_a_refusal(world: Kit) -> None:
    with pytest.raises(InvalidRequest) as caught:
        world.client.schedule(url="https://x.example/", cron="61 * * * *")
    assert [problem.field for problem in caught.value.details] == ["cron"]
    assert caught.value.request_id


def test_executions_are_read_page_by_page_and_by_status(world: Kit) -> None:
    job = world.client.schedule(url="https://x.example/", every=1, max_runs=250, retry=0)
    world.reply_next(*[400] * 3)
    world.clock.advance(300)
    assert len(list(world.client.executions(job.id))) == 250
    assert len(list(world.client.executions(job.id, status="FAILED"))) == 3


def test_a_job_is_named_by_its_name(world: Kit) -> None:
    client = world.client
    report = client.schedule(url="https://x.example/", every=10, max_runs=3, retry=0, name="report")
    client.schedule(url="https://x.example/", every=10, max_runs=1, name="report-2")
    once = client.schedule(url="https://x.example/", name="once")
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
    client.schedule(url="https://x.example/", every=60, name="report")
    with pytest.raises(AmbiguousName, match=f"2 jobs are called 'report'.*{report.id}"):
        next(client.executions(job="report"))


def test_a_batch_a_workflow_and_a_preview(world: Kit) -> None:
    good, bad = world.client.batch([job_request(url="https://x.example/"), job_request(url="nonsense")])
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


def test_the_token_is_sent_and_refused_when_it_is_wrong(world: Kit) -> None:
    client, transport, _ = a_client(a_reply(JOB))
    client.get("job_1")
    assert transport.sent[0].headers["Authorization"] == "Bearer otd_x"
    stranger = Client(token="otd_wrong", transport=world.client._transport)
    with pytest.raises(Unauthorized):
        stranger.get("job_1")


def test_a_value_that_is_no_json_is_refused_before_it_is_sent() -> None:
    client, transport, _ = a_client()
    with pytest.raises(ValueError, match="JSON compliant"):
        client.schedule("a", float("nan"))
    assert transport.sent == []


def test_a_client_is_a_context_manager() -> None:
    client, transport, _ = a_client()
    with client:
        pass
    assert transport.closed


def surface(kind: type) -> dict[str, tuple[Any, ...]]:
    """Return the public methods with their parameters and their documentation."""
    return {
        name: (tuple(inspect.signature(method).parameters.values()), inspect.getdoc(method))
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def test_both_clients_have_one_surface() -> None:
    assert surface(Client) == surface(AsyncClient)
    awaited = {name for name, method in inspect.getmembers(AsyncClient, inspect.iscoroutinefunction)}
    iterated = {name for name, method in inspect.getmembers(AsyncClient, inspect.isasyncgenfunction)}
    assert iterated == {name for name, method in inspect.getmembers(Client, inspect.isgeneratorfunction)}
    assert surface(AsyncClient).keys() <= awaited | iterated


def test_the_async_client_calls_retries_and_pages(world: Kit) -> None:
    job = world.client.schedule(url="https://x.example/", every=1, max_runs=150)
    world.clock.advance(200)
    transport = world.client._transport
    assert isinstance(transport, InProcessTransport)

    async def use() -> int:
        async with AsyncClient(token=token_of(world), transport=transport) as client:
            assert (await client.get(job.id)).id == job.id
            assert (await client.change(job.id, name="n", if_version=1)).name == "n"
            assert [run async for run in client.dead_letters(job="n")] == []
            assert (await client.dead_letter_causes(job="n")).causes == []
            assert len([run async for run in client.executions(job="n")]) == 150
            return len([run async for run in client.executions(job.id)])

    assert asyncio.run(use()) == 150


def token_of(world: Kit) -> str:
    return world.client._headers["Authorization"].removeprefix("Bearer ")


def test_the_async_client_repeats_with_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_pause(_: float) -> None: ...

    monkeypatch.setattr(asyncio, "sleep", no_pause)
    transport = ScriptedTransport([LOST, a_refusal(503, "unavailable"), a_reply(JOB, 202)])
    job = asyncio.run(AsyncClient(token="t", transport=transport).schedule("a"))
    assert job.id == "job_1"
    assert len({sent.body["idempotency_key"] for sent in transport.sent}) == 1


def test_the_client_loads_little() -> None:
    code = "import json, sys; from onthedot import Client, AsyncClient; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert loaded.isdisjoint({"boto3", "botocore", "pydantic", "urllib3", "asyncio", "pytest", "click", "sqlite3"})
    assert loaded.isdisjoint({"socket", "ssl", "subprocess", "logging", "concurrent.futures"})
    later = {"dead_letters", "explanations", "operations", "stage_answers"}
    assert loaded.isdisjoint(f"onthedot.client.{name}" for name in later), "the first call that needs it loads it"
    assert len(loaded) < 120


def test_the_package_offers_its_names() -> None:
    for name in onthedot.__all__:
        assert getattr(onthedot, name) is not None
    with pytest.raises(AttributeError):
        _ = onthedot.Klient  # type: ignore[attr-defined]
