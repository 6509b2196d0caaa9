"""Why a run waits at a gate: which gate, how many run, how many wait before it, and about when it goes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import GateId, queue_gate, tenant_gate, waiting_slot
from onthedot.core.ports import Deadline, Page, ReadRecords, SlotEntry
from onthedot.core.records import Kind, Record, Status
from onthedot.gates import explain
from onthedot.gates.explained import MOST_COUNTED, GateFacts, HeldPlace, waits_at, will_wait_at
from onthedot.gates.flag import flag_gate
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.state import GateState, Holder
from tests.builders import NOON, World, a_run
from tests.unit.api.gates.kit import hold
from tests.unit.api.kit import Api

STRIPE = GateId("acme", "stripe")
HIGH, MEDIUM = Priority.HIGH, Priority.MEDIUM


def reasons(api: Api, job_id: str) -> list[tuple[str, str]]:
    answer = api.get(f"/v1/jobs/{job_id}/explain")
    assert answer.status == 200, answer.body
    return [(reason["code"], reason["message"]) for reason in answer.body["reasons"]]


def a_waiting_run(world: World, gate: GateId = STRIPE, *, before_s: float = 0, **fields: Any) -> Record:
    """Store a run that waits at the gate since some seconds, and flag the gate."""
    run = a_run(world.clock).due_in(-before_s).having(**fields).build()
    flag_gate(world.engine, gate, run.priority, world.clock.now())
    slot = waiting_slot(gate, run.priority, 0)
    run = replace(run, status=Status.PENDING, slot=slot, gates=() if gate.name.startswith("@") else (gate.named,))
    assert world.store.create(run) is None
    return run


def a_holder(world: World, gate: GateId, *, since_s: float, limit: int) -> Record:
    """Store a run that runs since some seconds and has a place at the gate."""
    run = a_run(world.clock).dispatched().stored_in(world.store)
    at = world.clock.now() - round(since_s * 1000)
    holder = Holder(f"token{run.run_id}", run.generation, at, run.run_id)
    taken = world.gates.take(gate, 0, holder, room=limit, newcomer=False, capacity=None)
    assert taken.done
    start = lifecycle.start(
        run.run_id, run.generation, now=max(at, run.due_at), worker="w", attempt_token=holder.token, held=("0#stripe",)
    )
    world.store.move(start)
    return run


def a_late_holder(world: World, *, waited_s: float) -> None:
    """Store a run that gets a place now, so long after its time."""
    run = a_run(world.clock).due_in(-waited_s).dispatched().stored_in(world.store)
    token = hold(world, "stripe", f"t{world.clock.now()}", run.run_id).token
    world.store.move(
        lifecycle.start(run.run_id, run.generation, now=world.clock.now(), worker="w", attempt_token=token)
    )


def said(limits: GateLimits | None, gate: GateId = STRIPE, **facts: Any) -> tuple[str, str]:
    found = {"state": GateState(), "in_use": 0, "before": 0, **facts}
    reason = waits_at(gate, MEDIUM, GateFacts(limits=limits, **found), NOON)
    return reason.code, reason.message


@pytest.mark.parametrize(
    ("limits", "facts", "message"),
    [
        (GateLimits(in_flight=2), {"in_use": 2}, "2 of 2 places are in use; no run waits before it"),
        (
            GateLimits(in_flight=2),
            {"in_use": 2, "before": MOST_COUNTED + 1, "freed_at": (NOON - 90_000, NOON - 60_000, NOON - 30_000)},
            "2 of 2 places are in use; more than 1,000 runs wait before it; it starts in more than about 8 h",
        ),
        (
            GateLimits(per_second=0.5, in_flight=1),
            {"before": 1, "in_use": 1, "freed_at": (NOON - 300_000, NOON - 200_000, NOON - 100_000)},
            "1 of 1 place is in use, 0.5 starts a second; 1 run waits before it; it starts in about 3 min",
        ),
        (
            GateLimits(in_flight=2),
            {
                "in_use": 2,
                "before": 2,
                "state": GateState(priorities=frozenset({HIGH, MEDIUM})),
                "freed_at": (NOON - 30_000, NOON - 20_000, NOON - 10_000),
            },
            "2 of 2 places are in use; 2 runs of priority MEDIUM wait before it; it starts in about 90 s",
        ),
    ],
)
def test_a_waiting_run_says_how_many_run_and_wait_and_about_when_it_goes(
    limits: GateLimits, facts: dict[str, Any], message: str
) -> None:
    assert said(limits, **facts) == ("waits_at_gate", f"waits at gate stripe: {message}")


@pytest.mark.parametrize("limits", [GateLimits(per_second=0.05), GateLimits(in_flight=1), GateLimits(paused=True)])
def test_a_run_whose_time_to_start_is_over_says_that_it_is_skipped(limits: GateLimits) -> None:
    _, message = said(limits, in_use=1, freed_at=[NOON - 3, NOON - 2, NOON - 1], start_by=NOON - 1)
    assert "SKIPPED" in message
    assert "it starts in" not in message
    assert "SKIPPED" not in said(limits, start_by=NOON)[1]


def test_a_run_on_a_list_whose_time_to_start_is_over_explains_itself(api: Api, world: World) -> None:
    world.gates.put("acme", "stripe", GateLimits(paused=True))
    run = a_waiting_run(world, start_within_seconds=1, start_by=NOON - 1)
    (only,) = reasons(api, run.run_id)
    assert "so it ends SKIPPED" in only[1]


@pytest.mark.parametrize(
    "ago_s",
    [(20, 10), (900, 800, 700), (90, 80, 70)],
    ids=["few", "long ago", "none for a while"],
)
def test_without_places_that_became_free_lately_no_time_is_said(ago_s: tuple[int, ...]) -> None:
    freed_at = [NOON - each * 1000 for each in ago_s]
    _, message = said(GateLimits(in_flight=1, per_second=5), in_use=1, freed_at=freed_at)
    assert "about" not in message, "how long the holders will run is not known"


def test_an_estimate_by_a_rate_needs_no_holder() -> None:
    _, message = said(GateLimits(in_flight=2, per_second=5), in_use=1)
    assert message.endswith("it starts in about 1 s")


@pytest.mark.parametrize(
    ("in_use", "limit", "words"),
    [(2, 2, "held by slow-0 (since "), (3, 2, "held longest by slow-0 (since "), (1, 2, None)],
)
@pytest.mark.parametrize("gate", [STRIPE, tenant_gate("acme")])
def test_a_full_gate_names_the_jobs_that_hold_its_places(
    gate: GateId, in_use: int, limit: int, words: str | None
) -> None:
    longest = [HeldPlace("slow-0", NOON - 60_000), HeldPlace("slow-1", NOON)]
    _, message = said(GateLimits(in_flight=limit), gate, in_use=in_use, longest=longest)
    assert ("slow-1 (since 2026-03-01T12:00:00.000Z)" in message) is (words is not None)
    assert (words or "") in message


@pytest.mark.parametrize(
    ("gate", "limits", "command"),
    [
        (GateId("acme", "customer", "42"), GateLimits(paused=True), "gates resume customer"),
        (STRIPE, GateLimits(in_flight=0), "gates set stripe --in-flight N"),
        (STRIPE, GateLimits(per_second=0), "gates set stripe --per-second N"),
        (tenant_gate("acme"), TenantLimits(paused=True), "limits clear acme"),
    ],
)
def test_a_stopped_gate_says_which_command_lets_it_go_on(gate: GateId, limits: GateLimits, command: str) -> None:
    code, message = said(limits, gate, before=2)
    assert code == "gate_stopped"
    assert f"`onthedot {command}`" in message
    ahead = will_wait_at(gate, limits)
    assert ahead is not None
    assert f"`onthedot {command}`" in ahead.message


def test_a_deleted_gate_lets_the_run_go_on() -> None:
    assert said(None) == ("waits_at_gate", "waits at gate stripe, which no longer limits anything: it starts soon")


def test_a_run_on_a_list_explains_itself(api: Api, world: World) -> None:
    world.gates.put("acme", "stripe", GateLimits(in_flight=2))
    names = sorted(a_holder(world, STRIPE, since_s=0, limit=2).run_id for _ in range(2))
    first, second = a_waiting_run(world, before_s=2), a_waiting_run(world, before_s=1)
    world.clock.advance(10)
    held = "held by {0} (since {2}) and {1} (since {2})".format(*names, "2026-03-01T12:00:00.000Z")
    message = f"waits at gate stripe: 2 of 2 places are in use; {held}; {{}} before it"
    assert reasons(api, first.run_id) == [("waits_at_gate", message.format("no run waits"))]
    assert reasons(api, second.run_id) == [("waits_at_gate", message.format("1 run waits"))]
    world.clock.advance(90)
    assert reasons(api, first.run_id) == [("waits_at_gate", message.format("no run waits"))], "no estimate slides"


def test_the_holders_of_a_gate_are_named_and_only_those_that_hold_longest_are_read(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.gates.put("acme", "stripe", GateLimits(in_flight=5))
    job = api.job(every=3600, name="import")
    stamped = f"{job}.{NOON:015d}"
    world.store.create(
        a_run(world.clock).having(run_id=stamped, job_id=job, kind=Kind.STAMPED, definition=None).build()
    )
    hold(world, "stripe", "t0", stamped)
    world.clock.advance(1)
    for number in range(4):
        hold(world, "stripe", f"t{number + 1}", f"job_{number}")
        world.clock.advance(1)
    run = a_waiting_run(world)
    monkeypatch.setattr(explain, "FREED_LATELY_MS", 1)
    read: list[str] = []
    get_many = world.store.get_many

    def counted(ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        read.extend(ids)
        return get_many(ids, deadline)

    monkeypatch.setattr(world.store, "get_many", counted)
    ((_, message),) = reasons(api, run.run_id)
    since, then = "2026-03-01T12:00:00.000Z", "2026-03-01T12:00:01.000Z"
    assert f"; held longest by import (since {since}) and job_0 (since {then}); " in message
    assert read == [stamped, "job_0", job]


@pytest.mark.parametrize("waited", [True, False])
def test_the_time_is_estimated_from_holders_that_had_waited(api: Api, world: World, waited: bool) -> None:
    world.gates.put("acme", "stripe", GateLimits(in_flight=3))
    for _ in range(3):
        if waited:
            a_late_holder(world, waited_s=30)
        else:
            a_late_holder(world, waited_s=0.1)
        world.clock.advance(10)
    ((_, message),) = reasons(api, a_waiting_run(world).run_id)
    assert message.endswith("; no run waits before it; it starts in about 10 s") is waited


def test_the_views_of_a_waiting_run_name_the_gate(api: Api, world: World) -> None:
    run = a_waiting_run(world, GateId("acme", "customer", "42"))
    for path in (f"/v1/jobs/{run.run_id}", f"/v1/jobs/{run.run_id}/status", f"/v1/executions/{run.run_id}"):
        body = api.get(path).body
        assert (body["status"], body["reason"]) == ("PENDING", "waits at gate customer, key 42"), path


def test_a_run_of_a_closed_queue_names_the_queue(api: Api, world: World) -> None:
    run = a_waiting_run(world, queue_gate("default-medium"))
    ((code, message),) = reasons(api, run.run_id)
    assert (code, message) == (
        "waits_for_queue",
        "queue default-medium has a backlog of 0 messages, or takes none now; no run waits before it",
    )


def test_a_run_with_an_instant_says_when(api: Api, world: World) -> None:
    run = a_run(world.clock).due_in(30).dispatched().having(woken="stripe").stored_in(world.store)
    assert reasons(api, run.run_id) == [
        ("has_instant", "gate stripe lets it start at 2026-03-01T12:00:30.000Z, under its rate"),
        ("not_due", "sent, not due until 2026-03-01T12:00:30.000Z"),
    ]


@pytest.mark.parametrize("fields", [{}, {"delay": 3600}, {"every": 60}], ids=["due", "far", "recurring"])
def test_a_job_that_names_a_stopped_gate_says_so_before_its_runs_wait(
    api: Api, world: World, fields: dict[str, Any]
) -> None:
    world.gates.put("acme", "stripe", GateLimits(paused=True))
    codes = [code for code, _ in reasons(api, api.job(gates=["stripe"], **fields))]
    assert codes[1:] == ["gate_stopped"]
    assert "gate_stopped" not in [code for code, _ in reasons(api, api.job(**fields))]


def test_a_run_that_waits_at_one_stopped_gate_says_that_the_next_one_is_stopped_too(api: Api, world: World) -> None:
    world.limits.put("acme", TenantLimits(paused=True))
    world.gates.put("acme", "stripe", GateLimits(paused=True))
    run = a_waiting_run(world, tenant_gate("acme"))
    run = replace(run, run_id="job_other", job_id="job_other", gates=("stripe",))
    world.store.create(run)
    (first, _), (second, message) = reasons(api, run.run_id)
    assert (first, second) == ("gate_stopped", "gate_stopped")
    assert message.startswith("it will wait: gate stripe is paused")


def test_a_gate_that_cannot_be_read_is_named_all_the_same(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = a_waiting_run(world)

    def fail(gate: GateId) -> GateState:
        raise Unavailable("throttled")

    monkeypatch.setattr(world.gates, "read", fail)
    assert reasons(api, run.run_id) == [
        ("waits_at_gate", "waits at gate stripe"),
        ("unknown", "the gate cannot be read now"),
    ]


@pytest.mark.parametrize("parts", [None, 8])
def test_the_reads_are_bounded_however_many_runs_wait(
    api: Api, world: World, monkeypatch: pytest.MonkeyPatch, parts: int | None
) -> None:
    """Let every page of every part be full. A million runs wait, and explain reads a little more than 1,000 of them."""
    run = a_waiting_run(world)
    world.gates.put("acme", "stripe", GateLimits(in_flight=1))
    entry = SlotEntry("job_a", "", 0, "g", "acme", MEDIUM, "default", run.kind)
    read: list[int] = []

    def endless(slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        number = min(limit or 500, 500)
        read.append(number)
        return Page([entry] * number, "more")

    state = replace(world.gates.read(STRIPE), parts=parts)
    monkeypatch.setattr(world.gates, "read", lambda _gate: state)
    monkeypatch.setattr(world.store, "read_slot", endless)
    ((_, message),) = reasons(api, run.run_id)
    assert "more than 1,000 runs wait before it" in message
    assert sum(read) <= MOST_COUNTED + 1
