"""Workflows by REST: checked whole, made when they are due, shown with their states, stopped with their jobs."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from onthedot.api.http import Response
from onthedot.targets.router import TargetRouter
from onthedot.workflows.start import WorkflowStarter
from tests.builders import a_world
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import URL, Api, fields_of, message_of
from tests.unit.jobs.test_dependencies import Remembering


@pytest.fixture
def api() -> Iterator[Api]:
    with a_world() as world:
        yield Api(world)


def node(key: str, *depends_on: str, **fields: Any) -> dict[str, Any]:
    where = {} if {"target", "callback_url"} & fields.keys() else {"callback_url": URL}
    return {"key": key, **where, **({"depends_on": list(depends_on)} if depends_on else {}), **fields}


DIAMOND = [node("top"), node("left", "top"), node("right", "top"), node("bottom", "left", "right")]


def submit(api: Api, jobs: Any, headers: dict[str, str] | None = None, **fields: Any) -> Response:
    return api.send("POST", "/v1/workflows", headers, jobs=jobs, **fields)


def a_workflow(api: Api, jobs: Any, **fields: Any) -> str:
    response = submit(api, jobs, **fields)
    assert response.status == 202, response.body
    return str(response.body["workflow_id"])


def a_scheduler(api: Api) -> tuple[Simulation, Remembering]:
    simulation, target = Simulation(api.world), Remembering()
    factories = {"http": lambda: target, "workflow": lambda: WorkflowStarter(api.world.engine)}
    simulation.target = TargetRouter(factories)  # type: ignore[assignment, arg-type]
    return simulation, target


def shown(api: Api, workflow_id: str) -> dict[str, Any]:
    response = api.get(f"/v1/workflows/{workflow_id}")
    assert response.status == 200, response.body
    return dict(response.body)


def statuses(view: dict[str, Any]) -> dict[str, str]:
    return {job["key"]: job["status"] for job in view["jobs"]}


def ids(view: dict[str, Any]) -> dict[str, str]:
    return {job["key"]: job["job_id"] for job in view["jobs"]}


# --- accepted and shown


def test_a_workflow_is_one_job_until_it_is_due(api: Api) -> None:
    response = submit(api, DIAMOND, name="nightly", delay=3_600)
    assert (response.status, response.body["name"], response.body["status"]) == (202, "nightly", "PENDING")
    view = shown(api, response.body["workflow_id"])
    assert (view["name"], view["status"], view["schedule"]) == ("nightly", "PENDING", None)
    assert view["progress"] == {"total": 4, "ended": 0, "by_status": {"PENDING": 4}}
    assert view["critical_path"] == ["top", "left", "bottom"]
    assert [job["job_id"] for job in view["jobs"]] == [job["job_id"] for job in response.body["jobs"]]
    assert api.get(f"/v1/jobs/{view['jobs'][0]['job_id']}").status == 404, "it is made when it is due"


def test_a_diamond_runs_from_top_to_bottom_and_hands_results_on(api: Api) -> None:
    simulation, target = a_scheduler(api)
    workflow_id = a_workflow(api, DIAMOND)
    simulation.let_pass(20)
    view = shown(api, workflow_id)
    assert view["status"] == "SUCCEEDED"
    assert view["progress"] == {"total": 4, "ended": 4, "by_status": {"SUCCEEDED": 4}}
    given = target.given[ids(view)["bottom"]]["parents"]
    assert set(given) == {"left", "right"}, "in a workflow they go by their keys"
    assert given["left"]["job_id"] == ids(view)["left"]


def test_a_job_of_a_workflow_is_a_job_that_says_where_it_belongs(api: Api) -> None:
    simulation, _ = a_scheduler(api)
    workflow_id = a_workflow(api, [node("a", delay=3_600), node("b", "a", name="the end", on_parent_failure="skip")])
    simulation.let_pass(2)
    view = shown(api, workflow_id)
    assert (view["status"], statuses(view)) == ("PENDING", {"a": "PENDING", "b": "WAITING"})
    job = api.get(f"/v1/jobs/{ids(view)['b']}").body
    assert (job["workflow_id"], job["key"], job["name"]) == (workflow_id, "b", "the end")
    assert (job["dependencies"], job["on_parent_failure"]) == ([ids(view)["a"]], "skip")
    reasons = api.get(f"/v1/jobs/{ids(view)['b']}/explain").body["reasons"]
    assert f"a ({ids(view)['a']}), which is PENDING" in reasons[0]["message"]


def test_a_failure_spreads_and_the_workflow_says_so(api: Api) -> None:
    simulation, target = a_scheduler(api)
    workflow_id = a_workflow(api, [node("a", delay=5), node("b", "a"), node("c", "b", on_parent_failure="skip")])
    target.failing.add(ids(shown(api, workflow_id))["a"])
    simulation.let_pass(20)
    view = shown(api, workflow_id)
    assert (view["status"], statuses(view)) == ("FAILED", {"a": "FAILED", "b": "FAILED", "c": "SKIPPED"})
    first = ids(view)["a"]
    assert f"its parent a ({first}) failed: " in view["jobs"][1]["reason"]


def test_its_jobs_and_their_secrets_are_not_shown_as_a_payload(api: Api) -> None:
    target = {"type": "http", "url": URL, "headers": {"Authorization": "hush"}}
    workflow_id = a_workflow(api, [node("a", target=target)], delay=60)
    body = api.get(f"/v1/jobs/{workflow_id}").body
    assert (body["target"], body["payload"], body["payload_url"]) == ({"type": "workflow", "name": ""}, None, None)
    assert "hush" not in json.dumps(body) + json.dumps(shown(api, workflow_id))


def test_a_recurring_workflow_shows_its_schedule_and_the_latest_graph(api: Api) -> None:
    simulation, _ = a_scheduler(api)
    workflow_id = a_workflow(api, DIAMOND, every=60)
    assert (shown(api, workflow_id)["schedule"]["every"], shown(api, workflow_id)["status"]) == (60, "PENDING")
    simulation.let_pass(70)
    first = shown(api, workflow_id)
    simulation.let_pass(60)
    second = shown(api, workflow_id)
    assert (first["status"], second["status"]) == ("SUCCEEDED", "SUCCEEDED")
    assert second["schedule"]["status"] == "ACTIVE"
    assert not set(ids(first).values()) & set(ids(second).values()), "each time makes new jobs"
    assert statuses(shown(api, first["run_id"])) == statuses(first), "an earlier graph is found by its run"


def test_a_workflow_run_on_demand_makes_a_graph_of_its_own(api: Api) -> None:
    simulation, _ = a_scheduler(api)
    workflow_id = a_workflow(api, DIAMOND, delay=3_600)
    run_id = api.send("POST", f"/v1/jobs/{workflow_id}/run").body["execution_id"]
    simulation.let_pass(20)
    assert shown(api, run_id)["status"] == "SUCCEEDED"
    assert shown(api, workflow_id)["status"] == "PENDING"


def test_large_payloads_of_jobs_are_kept_apart_and_arrive(api: Api) -> None:
    simulation, target = a_scheduler(api)
    workflow_id = a_workflow(api, [node("a", payload="x" * 100_000)])
    simulation.let_pass(10)
    assert target.given[ids(shown(api, workflow_id))["a"]] == "x" * 100_000


def test_jobs_go_to_their_own_pools_and_priorities(api: Api) -> None:
    simulation, _ = a_scheduler(api)
    shell = {"type": "shell", "argv": ["true"]}
    workflow_id = a_workflow(api, [node("a", target=shell, priority="HIGH"), node("b", timeout_seconds=600)])
    simulation.let_pass(2)
    jobs = {key: api.get(f"/v1/jobs/{job_id}").body for key, job_id in ids(shown(api, workflow_id)).items()}
    assert (jobs["a"]["pool"], jobs["a"]["priority"]) == ("pull", "HIGH")
    assert jobs["b"]["pool"] == "long"


# --- once


def test_the_same_key_is_the_same_workflow(api: Api) -> None:
    first = a_workflow(api, DIAMOND, idempotency_key="k")
    assert a_workflow(api, DIAMOND, idempotency_key="k") == first
    assert submit(api, DIAMOND, {"Idempotency-Key": "k"}).body["workflow_id"] == first
    assert submit(api, DIAMOND[:1], idempotency_key="k").status == 409


def test_workflows_of_others_are_not_found(api: Api) -> None:
    workflow_id = a_workflow(api, DIAMOND, delay=60)
    assert api.called_by("globex").get(f"/v1/workflows/{workflow_id}").status == 404
    assert api.get(f"/v1/workflows/{api.job(delay=60)}").status == 404, "a job is no workflow"


# --- refused, with nothing stored


@pytest.mark.parametrize(
    ("jobs", "named"),
    [
        ([], {"jobs"}),
        ([node(f"n{n}") for n in range(501)], {"jobs"}),
        ([7], {"jobs.0"}),
        ([{"callback_url": URL}], {"jobs.0.key"}),
        ([node("a"), node("a")], {"jobs.1.key"}),
        ([node("a", "b")], {"jobs.0.depends_on.0"}),
        ([node("a", "a")], {"jobs.0.depends_on.0"}),
        ([node("a"), node("b", "a", "a")], {"jobs.1.depends_on.1"}),
        ([node("a", "b"), node("b", "a")], {"jobs.0.depends_on"}),
        ([node("a"), {"key": "b"}], {"jobs.1.target"}),
        ([node("a"), node("b", callback_url="nowhere")], {"jobs.1.callback_url"}),
        ([node("a"), node("b", target={"type": "http", "url": "nowhere"})], {"jobs.1.target.url"}),
        ([node("a", target={"type": "workflow"})], {"jobs.0.target.type"}),
        ([node("a", target={"type": "lambda", "function": "f"})], {"jobs.0.target.function"}),
        ([node("a", requirements={"cpu": 99})], {"jobs.0.requirements.cpu"}),
        ([node("a", at=1, delay=1)], {"jobs.0.at", "jobs.0.delay"}),
        ([node("a", at="1999-01-01T00:00:00Z")], {"jobs.0.at"}),
        ([node("a", on_parent_failure="run")], {"jobs.0.on_parent_failure"}),
        ([node("a", colour="red"), node("b", priority="x")], {"jobs.0.colour", "jobs.1.priority"}),
    ],
)
def test_every_mistake_is_named_and_nothing_is_stored(api: Api, jobs: Any, named: set[str]) -> None:
    response = submit(api, jobs)
    assert (response.status, fields_of(response)) == (422, named), response.body
    assert api.stored() == []


def test_a_cycle_is_refused_with_its_path(api: Api) -> None:
    response = submit(api, [node("a", "c"), node("b", "a"), node("c", "b")])
    assert "a → c → b → a" in message_of(response)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"at": 1, "cron": "* * * * *"}, {"at", "cron"}),
        ({"timezone": "UTC"}, {"timezone"}),
    ],
)
def test_what_is_wrong_with_the_workflow_itself_is_named(api: Api, fields: Any, named: set[str]) -> None:
    response = submit(api, DIAMOND, **fields)
    assert (response.status, fields_of(response)) == (422, named), response.body


def test_a_body_or_a_payload_that_is_too_large_is_refused(api: Api) -> None:
    assert submit(api, [node(f"n{n}", payload="x" * 900_000) for n in range(6)]).status == 413
    response = submit(api, [node("a"), node("b", payload="x" * 1_100_000)])
    assert (response.status, fields_of(response)) == (413, {"jobs.1.payload"})


def test_what_a_workflow_does_cannot_be_changed_but_when_it_does_it_can(api: Api) -> None:
    workflow_id = a_workflow(api, DIAMOND, delay=3_600)
    for change in ({"payload": 1}, {"callback_url": URL}, {"retry": {"max_retries": 1}}):
        response = api.send("PATCH", f"/v1/jobs/{workflow_id}", **change)
        assert (response.status, fields_of(response)) == (422, set(change))
    assert api.send("PATCH", f"/v1/jobs/{workflow_id}", delay=60, name="sooner").status == 200


def test_nobody_waits_for_a_workflow_as_a_whole(api: Api) -> None:
    response = api.submit(dependencies=[a_workflow(api, DIAMOND, delay=60)])
    assert fields_of(response) == {"dependencies.0"}


def test_a_job_may_wait_for_a_job_of_a_workflow(api: Api) -> None:
    simulation, target = a_scheduler(api)
    workflow_id = a_workflow(api, [node("a", delay=5)])
    simulation.let_pass(2)
    child = api.job(dependencies=[ids(shown(api, workflow_id))["a"]])
    simulation.let_pass(20)
    assert child in target.given


# --- stopped


def test_cancelling_a_workflow_that_is_not_due_makes_no_jobs(api: Api) -> None:
    simulation, _ = a_scheduler(api)
    workflow_id = a_workflow(api, DIAMOND, delay=60)
    assert api.send("PUT", f"/v1/jobs/{workflow_id}/cancel").status == 200
    simulation.let_pass(120)
    view = shown(api, workflow_id)
    assert (view["status"], set(statuses(view).values())) == ("CANCELLED", {"CANCELLED"})


@pytest.mark.parametrize("how", ["cancel", "delete"])
@pytest.mark.parametrize("when", [{}, {"every": 60}])
def test_stopping_a_workflow_stops_what_has_not_ended_of_its_graph(api: Api, how: str, when: dict[str, Any]) -> None:
    simulation, target = a_scheduler(api)
    workflow_id = a_workflow(api, [node("a"), node("b", "a", delay=3_600), node("c", "b")], **when)
    simulation.let_pass(75 if when else 10)
    before = shown(api, workflow_id)
    assert statuses(before) == {"a": "SUCCEEDED", "b": "PENDING", "c": "WAITING"}
    call = ("PUT", f"/v1/jobs/{workflow_id}/cancel") if how == "cancel" else ("DELETE", f"/v1/jobs/{workflow_id}")
    assert api.send(*call).status == 200
    jobs = {key: api.get(f"/v1/jobs/{job_id}").body for key, job_id in ids(before).items()}
    assert [job["status"] for job in jobs.values()] == ["SUCCEEDED", "CANCELLED", "CANCELLED"]
    assert "its workflow was" in jobs["c"]["reason"]
    ran = len(target.given)
    simulation.let_pass(4_000)
    assert len(target.given) == ran, "nothing of it runs any more"


def test_a_workflow_that_has_ended_cannot_be_cancelled(api: Api) -> None:
    simulation, _ = a_scheduler(api)
    workflow_id = a_workflow(api, DIAMOND)
    simulation.let_pass(20)
    assert api.send("PUT", f"/v1/jobs/{workflow_id}/cancel").status == 409


def test_the_longest_chain_and_the_widest_fan_are_made(api: Api) -> None:
    simulation, _ = a_scheduler(api)
    chain = [node(f"n{n}", *([f"n{n - 1}"] if n else []), delay=3_600) for n in range(500)]
    fan = [node("n0", delay=3_600), *(node(f"n{n}", "n0") for n in range(1, 500))]
    workflows = [a_workflow(api, chain), a_workflow(api, fan)]
    simulation.let_pass(3)
    for workflow_id in workflows:
        view = shown(api, workflow_id)
        assert view["progress"]["by_status"] == {"PENDING": 1, "WAITING": 499}
    assert len(shown(api, workflows[0])["critical_path"]) == 500


def test_all_workflows_are_found_without_their_jobs(api: Api) -> None:
    api.job(delay=3600)
    once, hourly = a_workflow(api, DIAMOND), a_workflow(api, DIAMOND, cron="0 * * * *")
    simulation, _ = a_scheduler(api)
    simulation.let_pass(10)

    def found(query: str) -> set[str]:
        return {job["job_id"] for job in api.get(f"/v1/jobs?limit=100&{query}").body["jobs"]}

    assert len(found(f"workflow={once}")) == 1 + len(DIAMOND)
    assert found("workflow=*") == {once, hourly}
    assert found("workflow=*&kind=recurring") == {hourly}


@pytest.mark.parametrize("poison", ["UPDATE runs SET format = 99", "UPDATE blobs SET content = x'5b5d'"])
def test_a_workflow_that_cannot_be_read_is_shown_as_such_to_its_tenant_only(poison: str) -> None:
    jobs = [{"key": f"n{number}", "callback_url": URL} for number in range(20)]
    with a_world() as world:
        api, other = Api(world), Api(world).called_by("other")
        workflow_id = api.send("POST", "/v1/workflows", jobs=jobs, delay=3600).body["workflow_id"]
        with world.database.transaction() as connection:
            connection.execute(poison)
        assert api.get(f"/v1/workflows/{workflow_id}").body["error"]["code"] == "unreadable"
        foreign, missing = other.get(f"/v1/workflows/{workflow_id}"), other.get("/v1/workflows/job_missing")
        assert (foreign.status, foreign.body) == (404, missing.body)
