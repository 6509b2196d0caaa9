"""Jobs that wait for others: refusals, explanations, and the results that a child gets from its parents."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from onthedot.core.ports import Answer, Call
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import Api, fields_of, message_of


@dataclass
class Remembering:
    """Answers with success, and remembers what each job was given."""

    result: str = "fine"
    failing: set[str] = field(default_factory=set)
    given: dict[str, Any] = field(default_factory=dict)

    def perform(self, call: Call) -> Answer:
        self.given[call.job_id] = json.loads(call.payload)
        if call.job_id in self.failing:
            return Answer(ok=False, error="broken", retryable=False)
        return Answer(ok=True, result=self.result)


def a_scheduler(api: Api, **answering: Any) -> tuple[Simulation, Remembering]:
    simulation = Simulation(api.world)
    target = Remembering(**answering)
    simulation.target = target  # type: ignore[assignment]
    return simulation, target


def test_a_child_runs_after_its_parents_and_is_given_their_results(api: Api) -> None:
    simulation, target = a_scheduler(api, result='{"rows": 3}')
    parent = api.job(delay=5, payload={"of": "parent"})
    child = api.job(dependencies=[parent], payload={"of": "child"})
    simulation.let_pass(20)
    assert target.given[parent] == {"of": "parent"}
    assert target.given[child] == {
        "payload": {"of": "child"},
        "parents": {parent: {"job_id": parent, "status": "SUCCEEDED", "result": '{"rows": 3}', "result_url": None}},
    }


def test_a_child_that_runs_all_the_same_is_told_how_its_parent_ended(api: Api) -> None:
    simulation, target = a_scheduler(api)
    parent = api.job(delay=5)
    target.failing.add(parent)
    child, other = api.job(dependencies=[parent], on_parent_failure="run"), api.job(dependencies=[parent])
    simulation.let_pass(20)
    assert target.given[child]["parents"][parent]["status"] == "FAILED"
    assert api.get(f"/v1/jobs/{other}").body["status"] == "FAILED"
    assert "broken" in api.get(f"/v1/jobs/{other}").body["reason"]
    assert "broken" in api.execution(other)["error"], "it has no attempt"


def test_a_waiting_job_names_the_parents_that_it_waits_for_and_their_states(api: Api) -> None:
    first, second = api.job(delay=5), api.job(delay=7_200)
    child = api.job(dependencies=[first, second], delay=7_300)
    simulation, _ = a_scheduler(api)
    simulation.let_pass(20)
    reasons = api.get(f"/v1/jobs/{child}/explain").body["reasons"]
    assert [reason["code"] for reason in reasons] == ["waiting_for_parents", "not_due"]
    assert f"{second}, which is PENDING" in reasons[0]["message"]
    assert first not in reasons[0]["message"], "it has ended"


def test_of_many_parents_only_some_are_named(api: Api) -> None:
    parents = [api.job(delay=7_200) for _ in range(13)]
    reasons = api.get(f"/v1/jobs/{api.job(dependencies=parents)}/explain").body["reasons"]
    assert "and 3 more" in reasons[0]["message"]


def test_what_cannot_be_waited_for_is_refused_by_its_place(api: Api) -> None:
    mine, foreign = api.job(delay=60), api.called_by("globex").job(delay=60)
    recurring = api.job(every=60)
    response = api.submit(dependencies=[mine, foreign, "job_nobody", recurring])
    assert response.status == 422
    assert fields_of(response) == {"dependencies.1", "dependencies.2", "dependencies.3"}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"dependencies": [7]}, "dependencies.0"),
        ({"dependencies": ["job_a", "job a"]}, "dependencies.1"),
        ({"dependencies": ["job_a", "job_b", "job_a"]}, "dependencies.2"),
        ({"on_parent_failure": "run"}, "on_parent_failure"),
        ({"dependencies": ["job_a"], "on_event": {"source": ["x"]}}, "dependencies"),
    ],
)
def test_dependencies_that_make_no_sense_are_refused(api: Api, fields: dict[str, Any], named: str) -> None:
    response = api.submit(**fields)
    assert (response.status, fields_of(response)) == (422, {named})


def test_a_job_cannot_wait_for_itself(api: Api) -> None:
    itself = api.job(idempotency_key="k", delay=60)
    api.send("DELETE", f"/v1/jobs/{itself}")
    response = api.submit(idempotency_key="k", dependencies=[itself])
    assert "itself" in message_of(response)


def test_a_retry_of_a_create_is_answered_though_its_parents_are_gone(api: Api) -> None:
    parent = api.job(delay=60)
    child = api.job(dependencies=[parent], idempotency_key="child")
    api.send("DELETE", f"/v1/jobs/{parent}")
    assert api.job(dependencies=[parent], idempotency_key="child") == child
