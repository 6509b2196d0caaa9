"""A gate of several pages whose limit was lowered: its places are counted alike by who asks and by who wakes."""

from collections import Counter

import pytest

from onthedot.core.gate_names import GateId
from onthedot.core.records import Status
from onthedot.gates.give_back import give_back
from onthedot.gates.limited import see
from onthedot.gates.limits import GateLimits
from onthedot.gates.places import lay_out, page_count, room
from onthedot.gates.state import GateState, Holder
from onthedot.gates.state_store import GateStore
from onthedot.gates.wake import free_places
from onthedot.jobs.change import cancel_job
from tests.builders import World
from tests.scenarios.gates.one_place import GATE, one_place
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.gates.kit import stored
from tests.unit.api.kit import Api

STRIPE = GateId("acme", "stripe")


def fill(world: World, limit: int, **pages: int) -> None:
    """Lay the pages out for a limit, and let attempts have this many places in some of them."""
    world.gates.change(STRIPE, lay_out(GateState(), limit))
    for page, count in pages.items():
        for number in range(count):
            holder = Holder(f"{page}-{number}", "g", world.clock.now(), "job_x")
            world.gates.take(STRIPE, int(page[1:]), holder, room=8, newcomer=False, capacity=limit)


def test_a_run_that_page_0_refuses_stays_on_the_list(world: World) -> None:
    """12 places and 9 holders. One of them is on a page that the limit no longer has, so only page 0 lets runs in."""
    fill(world, 40, p0=8, p2=1)
    world.gates.put("acme", "stripe", GateLimits(in_flight=12))
    job_id = Api(world).job(gates=["stripe"])
    simulation = Simulation(world)
    moves = Counter[Status]()
    for _ in range(5):
        simulation.work()
        run = stored(world, job_id)
        moves[run.status] += 1
    assert moves == {Status.PENDING: 5}
    assert [what.what for what in simulation.verdicts if hasattr(what, "what")] == ["waits at gate stripe"]


@pytest.mark.parametrize(
    ("pages", "free"),
    [
        ({"p0": 8, "p2": 1}, 0),
        ({"p0": 7, "p2": 1}, 1),
        ({"p0": 2, "p1": 8}, 2),
        ({"p0": 8, "p1": 1}, 3),
        ({"p0": 8, "p1": 8}, 0),
    ],
)
def test_as_many_places_are_free_as_runs_would_get(world: World, pages: dict[str, int], free: int) -> None:
    fill(world, 40, **pages)
    world.gates.put("acme", "stripe", GateLimits(in_flight=12))
    assert free_places(world.engine, see(world.engine, STRIPE)) == free


@pytest.mark.parametrize(("limit", "page"), [(1_000, 124), (1_000, 0), (12, 1)])
def test_the_end_of_an_attempt_at_a_large_gate_wakes_a_run_by_its_own_page(
    world: World, monkeypatch: pytest.MonkeyPatch, limit: int, page: int
) -> None:
    """All pages of a gate with 1,000 places are 100 KB."""
    fill(world, limit, **{f"p{number}": room(limit, number) for number in range(page_count(limit))})
    world.gates.put("acme", "stripe", GateLimits(in_flight=limit))
    job_id = Api(world).job(gates=["stripe"])
    Simulation(world).work()
    assert stored(world, job_id).status is Status.PENDING

    def no_pages(*_: object) -> None:
        pytest.fail("all pages were read")

    monkeypatch.setattr(GateStore, "pages", no_pages)
    give_back(world.engine, "acme", [f"{page}#stripe"], Holder(f"p{page}-0", "g", world.clock.now(), "job_x"))
    assert stored(world, job_id).woken == "stripe"


def test_no_attempt_more_than_the_lowered_limit_starts_when_those_of_one_page_end() -> None:
    """Twenty attempts run when the limit becomes five. A look leaves, and the attempts of page 0 end."""
    with one_place() as gate:
        gate.limit(20)
        attempts = [gate.started(gate.submit()) for _ in range(20)]
        gate.limit(5)
        gate.waits(gate.submit())
        cancel_job(gate.world.engine, GATE.tenant, gate.runs.pop().run_id)
        gate.keep(*attempts)
        gate.look()
        gate.look()  # the flag is old enough now
        first_page = [one for one in attempts if gate.simulation.stored(one.run).held[0].startswith("0#")]
        for started in first_page:
            gate.finish(started)
        gate.work(gate.submit())
        for started in attempts:
            if started not in first_page:
                gate.finish(started)
        gate.let_all_end()
