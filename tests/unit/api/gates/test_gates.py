"""Gates are set, shown, listed and deleted by their tenant, and limits are in force when a call answers."""

from typing import Any

import pytest

from onthedot.api.http import Request, Response
from onthedot.api.router import handle
from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import GateId
from onthedot.core.ports import Moved
from onthedot.gates import manage, show
from onthedot.gates.flag import flag_gate
from onthedot.gates.limits import IN_FORCE_MS, KNOWN_MS, MOST_GATES_OF_TENANT, GateLimits
from tests.builders import World
from tests.unit.api.gates.kit import hold, park, status_and_slot
from tests.unit.api.kit import ACME, Api, fields_of

IDLE = {"in_use": 0, "waiting": 0, "waiting_is_more": False, "oldest_waiting_seconds": None}
NO_KEYS = {"waiting_keys": 0, "waiting_keys_is_more": False, "first_waiting_keys": []}


def put(api: Api, name: str, /, **fields: Any) -> Response:
    return api.send("PUT", f"/v1/gates/{name}", **fields)


def shown(api: Api, name: str) -> dict[str, Any]:
    response = api.get(f"/v1/gates/{name}")
    assert response.status == 200, response.body
    return dict(response.body)


def test_a_gate_is_made_and_shown(api: Api) -> None:
    response = put(api, "stripe", in_flight=5, per_second=2.5, burst=10)
    changed = {"changed_at": "2026-03-01T12:00:00.000Z", "changed_by": "a test"}
    limits = {"in_flight": 5, "per_second": 2.5, "burst": 10, "paused": False, **changed}
    expected = {"name": "stripe", **limits, **IDLE, "holders": [], "first_waiting": [], **NO_KEYS}
    assert (response.status, response.body) == (200, expected)
    assert shown(api, "stripe") == expected
    listed = {name: expected[name] for name in ("name", *limits, *IDLE)}
    assert api.get("/v1/gates").body == {"gates": [listed], "next_cursor": None}


def test_the_body_replaces_all_limits(api: Api) -> None:
    put(api, "stripe", in_flight=5, per_second=2, burst=3, paused=True)
    replaced = put(api, "stripe", per_second=None, in_flight=7, paused=None).body
    assert {name: replaced[name] for name in ("in_flight", "per_second", "burst", "paused")} == {
        "in_flight": 7,
        "per_second": None,
        "burst": None,
        "paused": False,
    }
    assert put(api, "stripe").body["in_flight"] is None


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"in_flight": -1}, "in_flight"),
        ({"in_flight": 1_001}, "in_flight"),
        ({"in_flight": 2.5}, "in_flight"),
        ({"per_second": -1}, "per_second"),
        ({"per_second": 0.00001}, "per_second"),
        ({"per_second": 201}, "per_second"),
        ({"per_second": 10**400}, "per_second"),
        ({"burst": 2}, "burst"),
        ({"per_second": 1, "burst": 0}, "burst"),
        ({"per_second": 1, "burst": 10_001}, "burst"),
        ({"per_second": 0.0001, "burst": 260}, "burst"),
        ({"paused": "yes"}, "paused"),
        ({"weight": 2}, "weight"),
    ],
)
def test_bad_limits_are_refused_by_their_field(api: Api, fields: dict[str, Any], field: str) -> None:
    response = put(api, "stripe", **fields)
    assert (response.status, fields_of(response)) == (422, {field})
    assert api.get("/v1/gates/stripe").status == 404


@pytest.mark.parametrize("body", [b"", b"[]", b'{"per_second": NaN}'])
def test_a_body_that_is_no_object_is_refused(api: Api, body: bytes) -> None:
    assert api.call("PUT", "/v1/gates/stripe", body).status == 400


@pytest.mark.parametrize(
    "name", ["Stripe", "a" * 65, "%C3%BC", "@tenant", "a/b", "a%0A", ":", "customer:42", "customer:"]
)
def test_what_is_no_name_of_a_gate_is_refused(api: Api, name: str) -> None:
    response = put(api, name, in_flight=1)
    assert (response.status, fields_of(response)) == (422, {"name"})
    assert api.get("/v1/gates").body["gates"] == []


@pytest.mark.parametrize("name", ["none", "@tenant", "none:1", "stripe:", "stripe:" + "k" * 129])
def test_what_is_not_there_is_not_found(api: Api, name: str) -> None:
    put(api, "stripe", in_flight=1)
    response = api.get(f"/v1/gates/{name}")
    assert (response.status, response.body["error"]["code"]) == (404, "not_found")


def test_anothers_gate_answers_exactly_like_a_missing_one(api: Api) -> None:
    put(api, "stripe", in_flight=1)
    other = api.called_by("other")
    for method, name in (("GET", "stripe"), ("GET", "stripe:1"), ("DELETE", "stripe")):
        found, missing = other.call(method, f"/v1/gates/{name}"), other.call(method, f"/v1/gates/x{name}")
        assert (found.status, found.body) == (missing.status, missing.body)
        assert found.status == 404
    assert other.get("/v1/gates").body["gates"] == []
    assert other.submit(gates=["stripe"]).status == 422
    assert put(other, "stripe", in_flight=9).status == 200
    assert shown(api, "stripe")["in_flight"] == 1
    assert other.call("DELETE", "/v1/gates/stripe").status == 200
    assert shown(api, "stripe")["in_flight"] == 1


def test_gates_are_listed_by_name_page_by_page(api: Api) -> None:
    for number in range(5):
        put(api, f"g{number}", in_flight=number)
    pages: list[list[str]] = []
    cursor = ""
    while len(pages) < 9:
        body = api.get(f"/v1/gates?limit=2{cursor}").body
        pages.append([gate["name"] for gate in body["gates"]])
        if body["next_cursor"] is None:
            break
        cursor = f"&cursor={body['next_cursor']}"
    assert pages == [["g0", "g1"], ["g2", "g3"], ["g4"]]


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "cursor=x"])
def test_a_bad_query_is_refused_by_its_field(api: Api, query: str) -> None:
    response = api.get(f"/v1/gates?{query}")
    assert (response.status, fields_of(response)) == (422, {query.partition("=")[0]})


def test_a_cursor_of_another_tenant_is_refused(api: Api) -> None:
    for caller in (api, api.called_by("other")):
        put(caller, "a", in_flight=1)
        put(caller, "b", in_flight=1)
    cursor = api.get("/v1/gates?limit=1").body["next_cursor"]
    assert api.called_by("other").get(f"/v1/gates?cursor={cursor}").status == 422


def test_a_tenant_has_at_most_a_thousand_gates(api: Api, world: World) -> None:
    for number in range(MOST_GATES_OF_TENANT):
        world.engine.gates.put("acme", f"g{number}", GateLimits(in_flight=1))
    response = put(api, "one-more", in_flight=1)
    assert (response.status, fields_of(response)) == (422, {"name"})
    assert put(api, "g7", in_flight=2).status == 200
    assert put(api.called_by("other"), "one-more", in_flight=1).status == 200
    assert api.call("DELETE", "/v1/gates/g7").status == 200
    assert put(api, "one-more", in_flight=1).status == 200


def test_new_limits_are_in_force_when_the_call_answers(api: Api, world: World) -> None:
    assert KNOWN_MS < IN_FORCE_MS
    before = world.clock.now()
    put(api, "stripe", in_flight=5)
    assert world.clock.now() - before == IN_FORCE_MS
    put(api, "stripe", in_flight=6)
    api.call("DELETE", "/v1/gates/stripe")
    assert world.clock.now() - before == 3 * IN_FORCE_MS


def test_holders_are_shown_with_the_workers_of_their_attempts(api: Api, world: World) -> None:
    put(api, "stripe", in_flight=5)
    job_id = api.job(gates=["stripe"])
    run = world.store.get(job_id)
    assert run is not None
    hold(world, "stripe", "mine", job_id)
    world.clock.advance(2)
    hold(world, "stripe", "theirs", "job_gone")
    start = lifecycle.start(job_id, run.generation, now=world.clock.now(), worker="w-7", attempt_token="mine")
    assert isinstance(world.store.move(start), Moved)
    gate = shown(api, "stripe")
    assert gate["in_use"] == 2
    assert gate["holders"] == [
        {
            "execution_id": job_id,
            "job_id": job_id,
            "name": None,
            "since": "2026-03-01T12:00:04.000Z",
            "worker_id": "w-7",
        },
        {
            "execution_id": "job_gone",
            "job_id": None,
            "name": None,
            "since": "2026-03-01T12:00:06.000Z",
            "worker_id": None,
        },
    ]


def test_the_runs_that_wait_are_counted_with_the_age_of_the_oldest(api: Api, world: World) -> None:
    put(api, "stripe", paused=True)
    old = api.job(gates=["stripe"], priority="LOW")
    world.clock.advance(3)
    young = [api.job(gates=["stripe"]) for _ in range(12)]
    for job_id in (old, *young):
        park(world, job_id, "stripe")
    world.clock.advance(1.5)
    for gate in (shown(api, "stripe"), api.get("/v1/gates").body["gates"][0]):
        assert (gate["waiting"], gate["waiting_is_more"], gate["oldest_waiting_seconds"]) == (13, False, 4.5)


def test_the_runs_that_wait_longest_are_named(api: Api, world: World) -> None:
    put(api, "stripe", paused=True)
    assert shown(api, "stripe")["first_waiting"] == []
    for number in range(25):
        park(world, api.job(name=f"charge-{number}", gates=["stripe"], priority=["LOW", "HIGH"][number % 2]), "stripe")
        world.clock.advance(1)
    waiting = shown(api, "stripe")["first_waiting"]
    assert [run["name"] for run in waiting] == [f"charge-{number}" for number in range(20)]
    assert waiting[0]["fire_time"] == "2026-03-01T12:00:04.000Z"
    assert waiting[0]["execution_id"] == waiting[0]["job_id"]


def test_more_than_a_thousand_are_not_counted(api: Api, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onthedot.gates.show.MOST_COUNTED", 14)
    put(api, "stripe", paused=True)
    for number, counted in ((14, (14, False)), (1, (14, True)), (20, (14, True))):
        for _ in range(number):
            park(world, api.job(gates=["stripe"]), "stripe")
        gate = shown(api, "stripe")
        assert (gate["waiting"], gate["waiting_is_more"]) == counted


def test_a_key_has_its_gates_limits_and_its_own_use(api: Api, world: World) -> None:
    put(api, "customer", in_flight=1)
    for named in ("customer:4/2", "customer:ü %41"):
        park(world, api.job(gates=[named]), named)
    hold(world, "customer:4/2")
    key = shown(api, "customer:4%2F2")
    assert (key["name"], key["in_flight"], key["in_use"], key["waiting"]) == ("customer:4/2", 1, 1, 1)
    assert {name: key[name] for name in NO_KEYS} == NO_KEYS
    assert shown(api, "customer:%C3%BC%20%2541")["waiting"] == 1
    assert shown(api, "customer:never-used")["waiting"] == 0
    gate = shown(api, "customer")
    assert (gate["in_use"], gate["waiting"], gate["waiting_keys"]) == (0, 0, 2)
    assert sorted(gate["first_waiting_keys"]) == ["4/2", "ü %41"]


def test_the_first_hundred_waiting_keys_are_named(api: Api, world: World) -> None:
    put(api, "customer", in_flight=1)
    for number in range(120):
        flag_gate(world.engine, GateId("acme", "customer", str(number)), Priority.HIGH, world.clock.now())
    gate = shown(api, "customer")
    assert (gate["waiting_keys"], gate["waiting_keys_is_more"], len(gate["first_waiting_keys"])) == (120, False, 100)


def test_a_paused_gate_that_goes_on_wakes_the_runs_that_wait(api: Api, world: World) -> None:
    put(api, "stripe", paused=True)
    waiting = [api.job(gates=["stripe"]) for _ in range(3)]
    world.received()
    for job_id in waiting:
        park(world, job_id, "stripe")
    put(api, "stripe", in_flight=0)
    assert {status_and_slot(world, job_id) for job_id in waiting} == {("PENDING", "wait")}, (
        "no stricter limit wakes one"
    )
    put(api, "stripe", in_flight=2)
    assert [status_and_slot(world, job_id) for job_id in waiting].count(("DISPATCHED", "watch")) == 2
    assert len(world.received()) == 2


def test_the_runs_that_wait_at_a_deleted_gate_and_its_keys_go_on(api: Api, world: World) -> None:
    put(api, "customer", in_flight=0)
    jobs = {named: api.job(gates=[named]) for named in ("customer", "customer:1", "customer:2")}
    for named, job_id in jobs.items():
        park(world, job_id, named)
    assert api.call("DELETE", "/v1/gates/customer").body == {"deleted": True}
    assert {status_and_slot(world, job_id) for job_id in jobs.values()} == {("DISPATCHED", "watch")}
    assert api.get("/v1/gates/customer").status == 404
    assert api.call("DELETE", "/v1/gates/customer").status == 404


def test_one_key_cannot_be_deleted(api: Api) -> None:
    put(api, "customer", in_flight=1)
    response = api.call("DELETE", "/v1/gates/customer:42")
    assert (response.status, fields_of(response)) == (422, {"name"})
    assert shown(api, "customer")["in_flight"] == 1


def troubled(world: World, method: str, path: str, body: bytes, *, fails: str, gate: str = "") -> Response:
    """Call the API while one call of the store of gates fails."""
    real = getattr(world.engine.gates, fails)

    def fail(*arguments: Any, **options: Any) -> Any:
        if gate in str(arguments):
            raise Unavailable("as the test wants")
        return real(*arguments, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(world.engine.gates, fails, fail)
        return handle(world.engine, Request(method, path, body=body, principal=ACME))


@pytest.mark.parametrize("fails", ["put", "change", "read"])
def test_a_gate_is_flagged_before_its_limits_change(api: Api, world: World, fails: str) -> None:
    """A tick looks at the gate soon, wherever the call fails."""
    put(api, "stripe", paused=True)
    park(world, api.job(gates=["stripe"]), "stripe")
    world.clock.advance(3_600)
    response = troubled(world, "PUT", "/v1/gates/stripe", b'{"in_flight": 1}', fails=fails)
    assert response.status == 503
    is_written = shown(api, "stripe")["in_flight"] == 1
    look_at = world.engine.gates.read(GateId("acme", "stripe")).due_at or 0
    assert not is_written
    assert (0 < look_at - world.clock.now() <= 120_000) is (fails == "put")


def test_limits_that_are_written_are_answered_though_no_run_can_be_woken(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> int:
        raise Unavailable("as the test wants")

    monkeypatch.setattr(manage, "wake_waiting", fail)
    put(api, "stripe", paused=True)
    park(world, api.job(gates=["stripe"]), "stripe")
    assert put(api, "stripe", in_flight=1).status == 200


def test_a_gate_whose_use_cannot_be_read_hides_no_other(api: Api, world: World) -> None:
    for name in ("bad", "good"):
        put(api, name, in_flight=1)
    bad, good = troubled(world, "GET", "/v1/gates", b"", fails="read", gate="'bad'").body["gates"]
    assert {name: bad[name] for name in IDLE} == dict.fromkeys(IDLE)
    assert {name: good[name] for name in IDLE} == IDLE


def test_slow_reads_do_not_hold_a_list_up(api: Api, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "READERS", 1)
    for name in "abc":
        put(api, name, in_flight=1)
    real = show.use_of

    def slow(*arguments: Any) -> Any:
        world.clock.advance(3)
        return real(*arguments)

    monkeypatch.setattr(show, "use_of", slow)
    assert [gate["in_use"] for gate in api.get("/v1/gates").body["gates"]] == [0, 0, None]
