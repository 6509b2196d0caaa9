"""Each field of the table is taken, shown, changed, cleared and refused, by each kind of job that has it.

A new field is tried without an edit here. Its effect is tested where it has it. That both engines keep every value is
tested by `tests/contract/runs/test_runs.py`, which also takes the values from the table.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from onthedot.api.http import Response
from onthedot.api.reading import field_names
from onthedot.gates.limits import GateLimits
from onthedot.jobs.answers import JobView
from onthedot.jobs.spec import CHANGEABLE, FIELDS, Field, Has
from onthedot.workflows.members import graph_of, records_of
from tests.builders import World, a_world
from tests.examples import bad, good, shown
from tests.unit.api.kit import URL, Api, fields_of

KINDS: dict[Has, dict[str, Any]] = {
    Has.ONE_OFF: {"delay": 3600},
    Has.RECURRING: {"cron": "0 9 * * *"},
    Has.EVENT: {"on_event": {"source": ["bank"]}},
}
"""The kinds of jobs, and what makes each."""
TIMES = ("at", "delay", "cron", "every", "on_event")
WHERE = ("target", "callback_url")
VIEWED = set(field_names(JobView))
DEFAULTS: dict[str, Any] = {
    field.name: None if field.default is None else field.form.show(field.default) for field in FIELDS
}


def pairs(fields: Sequence[Field], *, having: bool) -> list[Any]:
    return [
        pytest.param(field, kind, id=f"{field.name}-{kind.name}")
        for field in fields
        for kind in KINDS
        if (kind in field.has) is having
    ]


HAVING, LACKING, CHANGING = pairs(FIELDS, having=True), pairs(FIELDS, having=False), pairs(CHANGEABLE, having=True)
OF_NODES = [pytest.param(field, id=field.name) for field in FIELDS if Has.NODE in field.has]
OF_WORKFLOWS = [pytest.param(field, id=field.name) for field in FIELDS if Has.WORKFLOW in field.has]


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        for name in ("stripe", "customer"):
            world.engine.gates.put("acme", name, GateLimits())
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def values(api: Api, field: Field) -> list[Any]:
    """The values that the API takes. Only jobs that there are can be waited for."""
    return [[api.job(delay=60)] for _ in range(2)] if field.name == "dependencies" else good(field)


def a_job(api: Api, field: Field, kind: Has, value: Any) -> dict[str, Any]:
    """The fields of a new job of this kind that has this value, with what the field needs beside it."""
    made_by = {} if field.name in TIMES and kind in field.has else KINDS[kind]
    needed = {"dependencies": [api.job(delay=60)]} if field.name == "on_parent_failure" and kind in field.has else {}
    return {**({} if field.name in WHERE else {"callback_url": URL}), **made_by, **needed, field.name: value}


def view(api: Api, job_id: str) -> dict[str, Any]:
    return dict(api.get(f"/v1/jobs/{job_id}").body)


def patch(api: Api, job_id: str, name: str, value: Any) -> Response:
    return api.send("PATCH", f"/v1/jobs/{job_id}", **{name: value})


def is_shown(field: Field, job: dict[str, Any], value: Any, before: Any = None) -> bool:
    if field.name == "callback_url":
        return bool(job["target"]["url"] == value)
    wanted = shown(field, value, DEFAULTS[field.name] if before is None else before)
    return field.name not in VIEWED or bool(job[field.name] == wanted)


def is_refused(response: Response, path: str) -> bool:
    """Whether the answer names this field, or a part of it, and nothing else."""
    named = fields_of(response)
    return response.status in (413, 422) and bool(named) and all(f"{one}.".startswith(f"{path}.") for one in named)


@pytest.mark.parametrize(("field", "kind"), HAVING)
def test_a_new_job_has_it(api: Api, field: Field, kind: Has) -> None:
    for value in values(api, field):
        job = view(api, api.job(**a_job(api, field, kind, value)))
        assert is_shown(field, job, value), job[field.name]


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_without_them_has_the_defaults(api: Api, kind: Has) -> None:
    job = view(api, api.job(callback_url=URL, **KINDS[kind]))
    elsewhere = {*TIMES, *WHERE, "timezone", "dependencies", "on_parent_failure", "key"}
    had = [field.name for field in FIELDS if kind in field.has and field.name in VIEWED - elsewhere]
    assert {name: job[name] for name in had} == {name: DEFAULTS[name] for name in had}


@pytest.mark.parametrize(("field", "kind"), CHANGING)
def test_a_change_replaces_it_alone(api: Api, field: Field, kind: Has) -> None:
    first, second = values(api, field)[:2]
    job_id = api.job(**a_job(api, field, kind, first))
    before = view(api, job_id)
    changed = patch(api, job_id, field.name, second)
    assert changed.status == 200, changed.body
    after = dict(changed.body)
    assert after == view(api, job_id)
    assert is_shown(field, after, second, before.get(field.name)), after[field.name]
    assert (after["changes"][0]["fields"], after["version"]) == ([field.name], 2)
    # The time of a job moves its next run, a rule takes its own fields along, and a target chooses the pool.
    moves = {"version", "changes", "status", "pool", "fire_time", "next_fire_time", "target", "timezone", "dst"}
    same = (before.keys() | after.keys()) - moves - {field.name, *TIMES}
    assert {name: after.get(name) for name in same} == {name: before.get(name) for name in same}


@pytest.mark.parametrize(("field", "kind"), CHANGING)
def test_a_change_of_another_field_keeps_it(api: Api, field: Field, kind: Has) -> None:
    job_id = api.job(**a_job(api, field, kind, values(api, field)[0]))
    before = view(api, job_id)
    other = "name" if field.name != "name" else "description"
    assert patch(api, job_id, other, "x").status == 200
    assert view(api, job_id).get(field.name) == before.get(field.name)


@pytest.mark.parametrize(("field", "kind"), CHANGING)
def test_null_clears_it_or_is_refused(api: Api, field: Field, kind: Has) -> None:
    job_id = api.job(**a_job(api, field, kind, values(api, field)[0]))
    response = patch(api, job_id, field.name, None)
    if field.null or field.name == "payload":
        assert response.status == 200, response.body
        assert view(api, job_id)[field.name] == DEFAULTS[field.name]
    else:
        assert is_refused(response, field.name)


@pytest.mark.parametrize(("field", "kind"), HAVING)
def test_a_wrong_value_is_refused_by_name_and_nothing_is_stored(api: Api, field: Field, kind: Has) -> None:
    job_id = api.job(**KINDS[kind])
    before = api.stored()
    null = [] if field.name == "payload" else [None]
    for value in [*bad(field), *null]:
        document = a_job(api, field, kind, value)
        present = before if "dependencies" not in document else api.stored()
        assert is_refused(api.post(document), field.name), value
        if field in CHANGEABLE and value is not None:
            assert is_refused(patch(api, job_id, field.name, value), field.name), value
        assert api.stored() == present


@pytest.mark.parametrize(("field", "kind"), LACKING)
def test_another_kind_of_job_refuses_it_by_name(api: Api, field: Field, kind: Has) -> None:
    value = values(api, field)[0]
    response = api.post(a_job(api, field, kind, value))
    assert (response.status, field.name in fields_of(response)) == (422, True)
    assert is_refused(patch(api, api.job(**KINDS[kind]), field.name, value), field.name)


@pytest.mark.parametrize("field", [field for field in FIELDS if field not in CHANGEABLE], ids=lambda one: one.name)
def test_what_cannot_change_is_refused(api: Api, field: Field) -> None:
    for made_by in KINDS.values():
        assert is_refused(patch(api, api.job(**made_by), field.name, values(api, field)[0]), field.name)


def a_workflow(api: Api, node: dict[str, Any], **head: Any) -> Response:
    where = {} if {*WHERE} & node.keys() else {"callback_url": URL}
    return api.send(
        "POST", "/v1/workflows", jobs=[{"key": "n", **where, **node}, {"key": "b", "callback_url": URL}], **head
    )


@pytest.mark.parametrize("field", OF_NODES)
def test_a_job_of_a_workflow_has_it(api: Api, field: Field) -> None:
    for value in [["b"]] if field.name == "depends_on" else [value for value in good(field) if value != "ü" * 64]:
        needed = {"depends_on": ["b"]} if field.name == "on_parent_failure" else {}
        response = a_workflow(api, {**needed, field.name: value}, delay=3600)
        assert response.status == 202, response.body
        head = api.world.store.get(response.body["job_id"])
        assert head is not None
        assert head.definition is not None
        workflow = graph_of(api.world.engine, head, head.definition)
        [record] = records_of(api.world.engine, workflow, head, [workflow.members[0].key])
        api.world.store.create(record)
        assert is_shown(field, view(api, record.run_id), value)


@pytest.mark.parametrize("field", OF_NODES)
def test_a_wrong_value_in_a_job_of_a_workflow_is_refused_by_its_path(api: Api, field: Field) -> None:
    for value in [*bad(field), *([] if field.name == "payload" else [None])]:
        needed = {"depends_on": ["b"]} if field.name == "on_parent_failure" else {}
        assert is_refused(a_workflow(api, {**needed, field.name: value}), f"jobs.0.{field.name}"), value
    assert api.stored() == []


@pytest.mark.parametrize("field", OF_WORKFLOWS)
def test_a_workflow_has_it(api: Api, field: Field) -> None:
    recurs = Has.RECURRING in field.has and Has.ONE_OFF not in field.has and field.name not in TIMES
    for value in good(field):
        response = a_workflow(api, {}, **(KINDS[Has.RECURRING] if recurs else {}), **{field.name: value})
        assert response.status == 202, response.body
        assert is_shown(field, view(api, response.body["job_id"]), value)


@pytest.mark.parametrize("field", OF_WORKFLOWS)
def test_a_wrong_value_of_a_workflow_is_refused_by_name(api: Api, field: Field) -> None:
    recurs = Has.RECURRING in field.has and Has.ONE_OFF not in field.has and field.name not in TIMES
    for value in [*bad(field), None]:
        head = {**(KINDS[Has.RECURRING] if recurs else {}), field.name: value}
        assert is_refused(a_workflow(api, {}, **head), field.name), value
    assert api.stored() == []


@pytest.mark.parametrize("field", FIELDS, ids=lambda one: one.name)
def test_what_a_workflow_or_its_jobs_do_not_have_is_refused_by_path(api: Api, field: Field) -> None:
    value = values(api, field)[0]
    if Has.NODE not in field.has:
        assert is_refused(a_workflow(api, {field.name: value}), f"jobs.0.{field.name}")
    if Has.WORKFLOW not in field.has:
        assert is_refused(a_workflow(api, {}, **{field.name: value}), field.name)
        workflow = a_workflow(api, {}, delay=3600).body["job_id"]
        assert is_refused(patch(api, workflow, field.name, value), field.name)
