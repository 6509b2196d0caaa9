"""What both clients have in common, and what `import onthedot` loads."""

import asyncio
import inspect
import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

import onthedot
from onthedot import AsyncClient, Client
from onthedot.client import ClientError, Execution, Job, NoAnswer, Reply, job_request
from onthedot.testing.kit import Kit
from tests.unit.cli.overview_document import an_overview
from tests.unit.client.scripted import JOB, LOST, ScriptedTransport, Sent, a_client, a_refusal, a_reply
from tools.client.__main__ import CLIENT, FILES, generate
from tools.client.sync import sync_client

AT = "2026-03-01T12:00:00.000Z"
RUN = {"execution_id": "job_1", "job_id": "job_1", "status": "RUNNING", "name": "a", "target": "python a"}
FOUND = {"jobs": [{**JOB, "kind": "recurring"}], "next_cursor": None}
STEP = {"matched": 1, "done": 1, "failed": 0, "failures": []}
GATE = {"name": "stripe", "in_flight": 5}
CAUSES = {"causes": [{"cause": "HTTP 400", "count": 3}], "truncated": False}
COUNTED = {"succeeded": 3, "failed": 1, "lateness": {"p99_ms": 88, "counts": [1, 2, 0]}}
STATISTICS = {"from": AT, "to": AT, "step_seconds": 60, "steps": [{"time": AT, **COUNTED}], "total": COUNTED}
NONE_NAMED: dict[str, Any] = {"jobs": [], "next_cursor": None}
Call = tuple[tuple[Any, ...], dict[str, Any], list[Any]]
CALLS: dict[str, Call] = {
    "schedule": (("send-email", {"to": "a"}), {"delay": 5, "idempotency_key": "k"}, [JOB]),
    "batch": (([job_request("a", idempotency_key="k")],), {}, [{"jobs": [JOB]}]),
    "get": (("job_1",), {}, [JOB]),
    "change": (("job_1",), {"if_version": 2, "name": None}, [JOB]),
    "cancel": (("job_1",), {}, [JOB]),
    "delete": (("job_1",), {}, [{"deleted": True}]),
    "pause": (("job_1",), {}, [JOB]),
    "resume": (("job_1",), {}, [JOB]),
    "run": (("job_1", 7), {}, [RUN]),
    "explain": (("job_1",), {}, [{**JOB, "reasons": [{"code": "x", "message": "y"}]}]),
    "execution": (("job_1",), {}, [RUN]),
    "executions": (
        (),
        {"worker": "w", "status": "RUNNING"},
        [{"executions": [], "next_cursor": "c"}, {"executions": [RUN], "next_cursor": None}],
    ),
    "list": ((), {"name": "rep", "tag": "team=a"}, [{**FOUND, "next_cursor": "c"}, FOUND]),
    "bulk": (("pause",), {"name": "n"}, [{**STEP, "next_cursor": "c"}, STEP]),
    "preview": ((), {"cron": "0 9 * * *"}, [{"fire_times": [{"time": AT, "local": "13:00"}]}]),
    "workflow": (([job_request("a", key="a")],), {"name": "f", "idempotency_key": "k"}, [{**JOB, "workflow_id": "w"}]),
    "get_workflow": (("w",), {}, [{**JOB, "workflow_id": "w", "jobs": [{"key": "a", "status": "FAILED"}]}]),
    "backfill": (("job_1", 0, 60), {"limit": 3}, [{"created": 0, "existing": 1, "left": 0}]),
    "forecast": ((3,), {}, [{"minutes": [{"time": AT, "runs": 1, "heaviest": [{"job_id": "j", "runs": 1}]}]}]),
    "workers": (("LOST",), {}, [{"workers": [{"worker_id": "w", "pool": "p", "status": "LOST", "heartbeat_at": AT}]}]),
    "dead_letters": ((), {"job": "n"}, [NONE_NAMED, NONE_NAMED, FOUND, {"dead_letters": [RUN], "next_cursor": None}]),
    "dead_letter_causes": ((5,), {"since": datetime(2026, 3, 1, tzinfo=UTC)}, [CAUSES]),
    "redrive": ((["job_1"],), {}, [{"redriven": 1, "next_cursor": "c", "left": True}]),
    "queues": ((), {}, [{"queues": [{"pool": "p", "waiting": 3}]}]),
    "overview": ((), {}, [an_overview(unknown=["due"], due=None)]),
    "statistics": ((AT,), {"step": 60, "priority": "HIGH"}, [STATISTICS]),
    "gates": ((), {}, [{"gates": [GATE], "next_cursor": None}]),
    "gate": (("customer:4/2",), {}, [GATE]),
    "set_gate": (("stripe",), {"in_flight": 5}, [GATE]),
    "delete_gate": (("stripe",), {}, [{"deleted": True}]),
    "health": ((), {}, [{"status": "ok", "time": AT}]),
}
"""For each method its arguments, and the documents that answer its calls."""


def surface(kind: type) -> dict[str, tuple[Any, ...]]:
    """Return the public methods with their parameters and their documentation."""
    return {
        name: (tuple(inspect.signature(method).parameters.values()), inspect.getdoc(method))
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def test_both_clients_have_one_surface() -> None:
    assert surface(Client) == surface(AsyncClient)
    assert surface(Client).keys() == CALLS.keys() | {"call", "close"}
    awaited = {name for name, method in inspect.getmembers(AsyncClient, inspect.iscoroutinefunction)}
    iterated = {name for name, method in inspect.getmembers(AsyncClient, inspect.isasyncgenfunction)}
    assert iterated == {name for name, method in inspect.getmembers(Client, inspect.isgeneratorfunction)}
    assert surface(AsyncClient).keys() <= awaited | iterated


@pytest.mark.parametrize("method", CALLS)
def test_both_clients_send_the_same_and_read_the_same(method: str) -> None:
    waited, awaited = call(method), asyncio.run(call_async(method))
    assert waited == awaited
    assert waited[0] is not None or method.startswith("delete")
    assert len(waited[1]) == len(CALLS[method][2])


def call(method: str) -> tuple[Any, list[Sent]]:
    arguments, options, replies = CALLS[method]
    client, transport, _ = a_client(*map(a_reply, replies))
    found = getattr(client, method)(*arguments, **options)
    return (list(found) if inspect.isgenerator(found) else found), transport.sent


async def call_async(method: str) -> tuple[Any, list[Sent]]:
    arguments, options, replies = CALLS[method]
    transport = ScriptedTransport([a_reply(one) for one in replies])
    async with AsyncClient(token="otd_x", transport=transport) as client:
        found = getattr(client, method)(*arguments, **options)
        result = [one async for one in found] if inspect.isasyncgen(found) else await found
    assert transport.closed
    return result, transport.sent


def test_the_answers_are_values() -> None:
    (runs, sent), (steps, _), (overview, _), (statistics, _) = map(
        call, ("executions", "bulk", "overview", "statistics")
    )
    assert (runs[0].name, runs[0].target) == ("a", "python a")
    assert sent[1].query == {"worker_id": "w", "status": "RUNNING", "limit": "100", "cursor": "c"}
    assert [step.done for step in steps] == [1, 1]
    assert (overview.hour.failed, overview.hour.lateness.p99_ms, len(overview.hour.minutes)) == (23, 88, 60)
    assert (overview.queues[0].waiting, overview.workers["alive"], overview.due) == (3, 3, [])
    assert (overview.unknown, overview.failures[0]["name"]) == (["due"], "remind-17")
    assert (statistics.steps[0].lateness.counts, statistics.total.failed) == ([1, 2, 0], 1)
    (workers, _), (found, _) = call("workers"), call("dead_letters")
    assert (workers[0].id, workers[0].heartbeat_at) == ("w", datetime(2026, 3, 1, 12, tzinfo=UTC))
    assert found == [Execution(id="job_1", job_id="job_1", status="RUNNING", name="a", target="python a")]


def test_an_overview_without_a_status_is_still_an_overview() -> None:
    client, _, _ = a_client(a_reply(an_overview(status=None)))
    assert client.overview().status == "unknown"


def test_both_clients_repeat_with_the_same_key() -> None:
    busy: list[Reply | NoAnswer] = [LOST, a_refusal(503, "unavailable"), a_reply(JOB, 202)]
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async def use(transport: ScriptedTransport) -> Job:
        return await AsyncClient(token="t", transport=transport, sleep=pause).schedule("a")

    transport = ScriptedTransport([*busy])
    assert asyncio.run(use(transport)).id == "job_1"
    assert len({sent.body["idempotency_key"] for sent in transport.sent}) == 1
    assert len(pauses) == 2
    assert a_client(*busy)[0].schedule("a").id == "job_1"


def test_an_async_client_pauses_on_its_loop() -> None:
    client = AsyncClient(token="t", transport=ScriptedTransport([LOST, a_reply(JOB)]))
    assert asyncio.run(client.get("job_1")).id == "job_1"


def test_the_async_client_works_on_the_real_api(world: Kit) -> None:
    job = world.client.schedule(url="https://x.example/", every=1, max_runs=150, name="n")
    world.clock.advance(200)
    token = world.client._headers["Authorization"].removeprefix("Bearer ")

    async def use() -> int:
        async with AsyncClient(token=token, transport=world.client._transport) as client:
            assert (await client.get(job.id)).id == job.id
            with pytest.raises(ClientError):
                await client.backfill("job_none", 0, 60)
            return len([run async for run in client.executions(job="n")])

    assert asyncio.run(use()) == 150


def test_the_token_is_sent() -> None:
    client, transport, _ = a_client(a_reply(JOB))
    with client:
        client.get("job_1")
    assert transport.sent[0].headers["Authorization"] == "Bearer otd_x"
    assert transport.closed


def test_a_value_that_is_no_json_is_refused_before_it_is_sent() -> None:
    client, transport, _ = a_client()
    with pytest.raises(ValueError, match="JSON compliant"):
        client.schedule("a", float("nan"))
    assert transport.sent == []


@pytest.mark.parametrize("name", FILES)
def test_the_generated_files_are_fresh(name: str) -> None:
    assert (CLIENT / name).read_text() == generate(name), "run `make generate`"


def test_a_rule_of_the_generator_that_does_nothing_is_found() -> None:
    with pytest.raises(ValueError, match="nothing in the client"):
        sync_client("class Client: ...")


def test_the_client_loads_little() -> None:
    code = "import json, sys; from onthedot import Client, AsyncClient; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert loaded.isdisjoint({"boto3", "botocore", "pydantic", "urllib3", "asyncio", "pytest", "click", "sqlite3"})
    assert loaded.isdisjoint({"http.client", "socket", "ssl", "subprocess", "logging", "concurrent.futures"})
    assert len(loaded) < 120


def test_the_package_offers_its_names() -> None:
    for name in onthedot.__all__:
        assert getattr(onthedot, name) is not None
    with pytest.raises(AttributeError):
        _ = onthedot.Klient  # type: ignore[attr-defined]
