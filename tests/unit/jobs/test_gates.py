"""Jobs name gates and a time to start within: on every path, shown, changed and cleared."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.api.http import Response
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline, Moved
from onthedot.core.records import Record, Status
from onthedot.events.bus_events import SUBMIT, BadEvent, take_event
from onthedot.gates import run_moves
from onthedot.gates.limits import GateLimits
from onthedot.jobs import patch as patches
from tests.builders import World, a_world
from tests.unit.api.gates.kit import park, status_and_slot
from tests.unit.api.kit import URL, Api, Instead, fields_of, message_of

NAMED: dict[str, Any] = {"gates": ["stripe", "customer:4 2"], "start_within_seconds": 60}
STORED = (("customer:4 2", "stripe"), 60)


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        for name in ("stripe", "customer", "third"):
            world.engine.gates.put("acme", name, GateLimits(in_flight=1))
        yield world


class CountingGates(Instead):
    """A store of gates that counts the reads of limits, and fails them if a test wants that."""

    def __init__(self, world: World, fails: bool = False) -> None:
        super().__init__(world.engine.gates)
        self.fails = fails
        self.asked: list[str] = []

    def find(self, tenant: str, name: str) -> GateLimits | None:
        self.asked.append(name)
        if self.fails:
            raise Unavailable("as the test wants")
        found: GateLimits | None = self.part.find(tenant, name)
        return found


def patch(api: Api, job_id: str, /, **fields: Any) -> Response:
    return api.send("PATCH", f"/v1/jobs/{job_id}", **fields)


def test_each_gate_that_is_not_there_is_refused_by_its_place(api: Api) -> None:
    response = api.submit(gates=["stripe", "none", "never:1"])
    assert (response.status, fields_of(response)) == (422, {"gates.1", "gates.2"})
    assert message_of(response) == "there is no gate none; make it first with PUT /v1/gates/none"


def test_longest_names_are_accepted(api: Api, world: World) -> None:
    world.engine.gates.put("acme", "a" * 64, GateLimits())
    named = "a" * 64 + ":" + "ü" * 128
    job_id = api.job(gates=[named], start_within_seconds=31 * 86_400)
    assert api.record(job_id).gates == (named,)


def test_a_repeated_request_is_answered_though_its_gate_is_gone(api: Api, world: World) -> None:
    first = api.submit(gates=["stripe"], idempotency_key="k")
    world.engine.gates.put("acme", "stripe", None)
    assert api.submit(gates=["stripe"], idempotency_key="k").body["job_id"] == first.body["job_id"]
    assert api.submit(gates=["stripe"], idempotency_key="other").status == 422


def test_a_batch_checks_each_gate_once_and_each_job_on_its_own(world: World) -> None:
    gates = CountingGates(world)
    named = [["stripe"], ["customer:1", "stripe"], ["customer:2"], ["none"], ["stripe", "none"], []]
    jobs = [{"callback_url": URL, "gates": one} for one in named]
    answers = Api(world).on(gates=gates).send("POST", "/v1/jobs/batch", jobs=jobs).body["jobs"]
    assert ["error" in answer for answer in answers] == [False, False, False, True, True, False]
    assert [detail["field"] for detail in answers[4]["error"]["details"]] == ["gates.1"]
    assert sorted(gates.asked) == ["customer", "none", "stripe"]


def test_a_batch_asks_no_more_after_a_failed_read(world: World) -> None:
    gates = CountingGates(world, fails=True)
    jobs = [{"callback_url": URL, "gates": [f"g{number}"]} for number in range(20)] + [{"callback_url": URL}]
    answers = Api(world).on(gates=gates).send("POST", "/v1/jobs/batch", jobs=jobs).body["jobs"]
    assert [answer["error"]["code"] for answer in answers[:-1]] == ["unavailable"] * 20
    assert "job_id" in answers[-1]
    assert gates.asked == ["g0"]


def test_jobs_of_a_workflow_have_them(api: Api, world: World) -> None:
    nodes = [{"key": "a", "callback_url": URL, **NAMED}, {"key": "b", "callback_url": URL, "depends_on": ["a"]}]
    gates = CountingGates(world)
    jobs = [*nodes, {"key": "c", "callback_url": URL, "gates": ["stripe"]}]
    response = api.on(gates=gates).send("POST", "/v1/workflows", jobs=jobs)
    assert response.status == 202, response.body
    assert sorted(gates.asked) == ["customer", "stripe"]


@pytest.mark.parametrize(
    ("gates", "field"),
    [(["none"], "jobs.1.gates.0"), (["stripe", "stripe"], "jobs.1.gates.1"), (["A"], "jobs.1.gates.0")],
)
def test_a_bad_gate_of_a_workflows_job_is_refused_by_its_path(api: Api, gates: list[str], field: str) -> None:
    nodes = [{"key": "a", "callback_url": URL}, {"key": "b", "callback_url": URL, "gates": gates}]
    response = api.send("POST", "/v1/workflows", jobs=nodes)
    assert (response.status, fields_of(response)) == (422, {field})


def command(detail: dict[str, Any]) -> dict[str, Any]:
    return {"id": "e1", "source": "shop", "detail-type": SUBMIT, "time": "2026-03-01T12:00:00Z", "detail": detail}


def test_a_command_of_the_bus_takes_and_refuses_them_as_rest_does(world: World) -> None:
    deadline = Deadline.after(world.clock.now(), 5_000)
    [job_id] = take_event(world.engine, "acme", command({"callback_url": URL, **NAMED}), deadline)
    job = Api(world).record(job_id)
    assert (job.gates, job.start_within_seconds) == STORED
    with pytest.raises(BadEvent, match=r"gates\.0: there is no gate none"):
        take_event(world.engine, "acme", command({"callback_url": URL, "gates": ["none"]}), deadline)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"gates": ["none"]}, "gates.0"),
        ({"gates": ["stripe", "stripe"]}, "gates.1"),
    ],
)
def test_a_bad_change_is_refused_by_its_field_and_nothing_changes(
    api: Api, world: World, fields: dict[str, Any], field: str
) -> None:
    job_id = api.job(**NAMED)
    before = api.record(job_id)
    response = patch(api, job_id, **fields)
    assert (response.status, fields_of(response)) == (422, {field})
    assert api.record(job_id) == before


@pytest.mark.parametrize("is_parked", [True, False])
def test_new_gates_of_a_job_that_is_due_place_it_anew(api: Api, world: World, is_parked: bool) -> None:
    job_id = api.job(gates=["stripe"])
    world.received()
    before = park(world, job_id, "stripe") if is_parked else api.record(job_id)
    assert patch(api, job_id, gates=["third"]).body["status"] == "DISPATCHED"
    after = api.record(job_id)
    assert after.generation != before.generation
    assert (after.gates, after.woken) == (("third",), None)
    assert status_and_slot(world, job_id) == ("DISPATCHED", "watch")
    [message] = [one.message for one in world.received()]
    assert (message.run_id, message.generation, message.gates) == (job_id, after.generation, ("third",))


def test_new_gates_of_a_job_that_is_far_leave_it_in_its_fire_slot(api: Api, world: World) -> None:
    job_id = api.job(gates=["stripe"], delay=3_600)
    patch(api, job_id, gates=["third"])
    assert status_and_slot(world, job_id) == ("PENDING", "fire")


@pytest.mark.parametrize("fields", [{"gates": ["stripe"], "name": "x"}, {"start_within_seconds": None}])
def test_the_same_gates_leave_the_message_valid(api: Api, world: World, fields: dict[str, Any]) -> None:
    job_id = api.job(gates=["stripe"])
    before = api.record(job_id)
    patch(api, job_id, **fields)
    assert api.record(job_id).generation == before.generation


def new_run(api: Api, job_id: str) -> str:
    """A run of the job that is due now: made by an event, if the job waits for one."""
    if "on_event" not in api.get(f"/v1/jobs/{job_id}").body:
        return str(api.call("POST", f"/v1/jobs/{job_id}/run").body["execution_id"])
    return str(api.send("POST", "/v1/events", source="shop", detail_type="order", detail={}).body["runs"][0])


def parked_runs(api: Api, world: World, job_id: str, gates: list[str]) -> list[str]:
    """Runs of a job, each on the waiting list of its gate."""
    runs = []
    for named in gates:
        world.clock.advance(1)
        run_id = new_run(api, job_id)
        park(world, run_id, named)
        runs.append(run_id)
    world.received()
    return runs


@pytest.mark.parametrize("when", [{"delay": 3_600}, {"cron": "0 9 * * *"}, {"on_event": {"source": ["shop"]}}])
def test_runs_that_wait_at_a_gate_of_before_are_released(api: Api, world: World, when: dict[str, Any]) -> None:
    job_id = api.job(gates=["stripe", "customer:1"], **when)
    runs = parked_runs(api, world, job_id, ["stripe", "customer:1", "@tenant"])
    waiting = [api.record(run_id) for run_id in runs]
    patch(api, job_id, gates=["customer:1"])
    places = [status_and_slot(world, run_id) for run_id in runs]
    assert places == [("DISPATCHED", "watch"), ("PENDING", "wait"), ("PENDING", "wait")]
    released = api.record(runs[0])
    assert released.generation != waiting[0].generation
    assert [one.message.generation for one in world.received()] == [released.generation]
    assert [api.record(run_id) for run_id in runs[1:]] == waiting[1:]


def test_a_run_that_was_woken_meanwhile_is_left_alone(api: Api, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = api.job(gates=["stripe"], cron="0 9 * * *")
    [run_id] = parked_runs(api, world, job_id, ["stripe"])
    real = run_moves.release

    def release(run: Record, now: int, **options: Any) -> Any:
        wake = run_moves.wake(run, now, deployment=world.deployment, woken="stripe")
        assert isinstance(world.store.move(wake), Moved)
        return real(run, now, **options)

    monkeypatch.setattr(run_moves, "release", release)
    assert patch(api, job_id, gates=None).status == 200
    assert api.record(run_id).woken == "stripe"
    assert world.received() == []


def test_a_change_stands_though_runs_cannot_be_released(api: Api, world: World) -> None:
    job_id = api.job(gates=["stripe"], cron="0 9 * * *")
    [run_id] = parked_runs(api, world, job_id, ["stripe"])

    class Store(Instead):
        def runs_of(self, *_: Any) -> Any:
            raise Unavailable("as the test wants")

    job = api.record(job_id)
    store: Any = Store(world.store)
    assert patches.release_runs(replace(world.engine, store=store), replace(job, gates=())) == 0
    assert status_and_slot(world, run_id) == ("PENDING", "wait")
    assert patch(api, job_id, gates=None).status == 200
    assert api.record(run_id).status is Status.DISPATCHED


def test_at_most_the_latest_runs_are_looked_at(api: Api, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "_PAGE", 2)
    monkeypatch.setattr(patches, "MOST_RUNS", 4)
    job_id = api.job(gates=["stripe"], on_event={"source": ["shop"]})
    runs = parked_runs(api, world, job_id, ["stripe"] * 5)
    patch(api, job_id, gates=None)
    assert [api.record(run_id).status for run_id in runs] == [Status.PENDING, *[Status.DISPATCHED] * 4]


def test_a_gate_may_be_deleted_while_jobs_name_it(api: Api, world: World) -> None:
    job_id = api.job(gates=["stripe"], cron="0 9 * * *")
    world.engine.gates.put("acme", "stripe", None)
    assert api.get(f"/v1/jobs/{job_id}").body["gates"] == ["stripe"]
    assert patch(api, job_id, name="x").status == 200
