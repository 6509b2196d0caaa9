"""A message that is dropped: the run that it names is not forgotten on a list, and the wake that it carries goes on."""

from collections.abc import Iterator

import pytest

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, gate_of_slot, waiting_slot
from onthedot.core.ids import fresh_generation
from onthedot.core.ports import Received
from onthedot.core.records import Record, Status
from onthedot.core.start import Done, start_run
from onthedot.gates import run_moves
from onthedot.gates.give_back import give_back
from onthedot.gates.limits import GateLimits
from onthedot.gates.manage import put_gate
from onthedot.workers import assign as messages
from tests.builders import World, a_world
from tests.unit.api.gates.kit import hold, stored
from tests.unit.api.kit import SHELL, Api, a_worker

STRIPE = GateId("acme", "stripe")
POOL = "pull"


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as world:
        world.gates.put("acme", "stripe", GateLimits(in_flight=1))
        yield world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


def park_late(world: World, run_id: str) -> Record:
    """Put the run on the list as a worker that was stopped for a minute does: no tick looks at the gate any more.

    The worker dies before it flags the gate again and deletes the message.
    """
    run = stored(world, run_id)
    slot = waiting_slot(STRIPE, Priority.MEDIUM, 0)
    now = world.clock.now()
    move = run_moves.wait(run_id, run.generation, slot, now, gate=STRIPE.named, fresh_generation=fresh_generation())
    world.store.move(move)
    assert not world.gates.read(STRIPE).is_flagged
    return stored(world, run_id)


def assert_not_forgotten(world: World, run_id: str) -> None:
    run = stored(world, run_id)
    assert world.gates.read(STRIPE).is_flagged or run.status is not Status.PENDING


def test_a_pull_worker_that_finds_a_run_on_a_list_flags_its_gate(api: Api, world: World) -> None:
    worker = a_worker(api)
    hold(world, "stripe")
    job_id = api.job(gates=["stripe"], target=SHELL)
    park_late(world, job_id)
    assert worker.lease() == []
    assert_not_forgotten(world, job_id)


def test_a_message_that_is_not_renewed_because_its_run_is_on_a_list_flags_its_gate(api: Api, world: World) -> None:
    hold(world, "stripe")
    job_id = api.job(gates=["stripe"], target=SHELL)
    [received] = world.received(Priority.MEDIUM, POOL)
    park_late(world, job_id)
    often = Received(received.message, received.receipt, messages.RENEW_AFTER)
    messages.give_back(world.engine, often, 1_000)
    assert_not_forgotten(world, job_id)


def test_a_message_of_a_deleted_job_whose_run_is_on_a_list_flags_its_gate(api: Api, world: World) -> None:
    """The run is ended when its turn comes."""
    hold(world, "stripe")
    job_id = api.job(gates=["stripe"], every=60)
    run_id = api.call("POST", f"/v1/jobs/{job_id}/run").body["execution_id"]
    [received] = world.received()
    run = park_late(world, run_id)
    assert api.call("POST", f"/v1/jobs/{job_id}/pause").status == 200
    assert isinstance(start_run(world.engine, received.message, "worker"), Done)
    assert_not_forgotten(world, run.run_id)


def two_waiting(api: Api, world: World, **fields: object) -> tuple[str, str]:
    """Let two runs wait, and wake the first of them."""
    holder = hold(world, "stripe")
    worker = a_worker(api)
    first, second = (api.job(gates=["stripe"], target=SHELL, **fields) for _ in range(2))
    worker.lease()
    worker.lease()
    assert [gate_of_slot(stored(world, one).slot) for one in (first, second)] == [STRIPE, STRIPE]
    give_back(world.engine, "acme", ["0#stripe"], holder)
    woken = sorted((first, second), key=lambda one: stored(world, one).woken is None)
    assert [stored(world, one).woken for one in woken] == ["stripe", None]
    return woken[0], woken[1]


def test_a_pull_worker_passes_the_wake_of_a_stopped_run_on(api: Api, world: World) -> None:
    first, second = two_waiting(api, world)
    assert api.call("PUT", f"/v1/jobs/{first}/cancel").status == 200
    worker = a_worker(api)
    taken = [one["execution_id"] for _ in range(3) for one in worker.lease()]
    assert taken == [second]


def test_the_wake_of_a_run_that_was_stopped_and_is_refused_at_another_gate_is_passed_on(api: Api, world: World) -> None:
    holder = hold(world, "stripe")
    world.gates.put("acme", "other", GateLimits(in_flight=1))
    first = api.job(gates=["stripe", "other"])
    world.clock.advance(1)
    second = api.job(gates=["stripe"])
    for received in world.received():
        assert isinstance(start_run(world.engine, received.message, "worker"), Done)
        world.queues.delete(received)
    give_back(world.engine, "acme", ["0#stripe"], holder)
    assert stored(world, first).woken == "stripe"
    put_gate(world.engine, "acme", "other", GateLimits(paused=True))
    assert api.call("PUT", f"/v1/jobs/{first}/cancel").status == 200
    [received] = world.received()
    assert isinstance(start_run(world.engine, received.message, "worker"), Done)
    assert stored(world, second).woken == "stripe"
