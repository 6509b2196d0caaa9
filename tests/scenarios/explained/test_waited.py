"""Why was my run late? It says at which gate it waited, also after it has ended."""

from tests.builders import World
from tests.scenarios.explained.test_incidents import Explained
from tests.scenarios.kits.simulation import Simulation
from tests.unit.api.kit import SHELL, Api, a_worker


def test_a_run_that_waited_says_so_after_its_end(world: World) -> None:
    api, simulation = Api(world), Simulation(world)
    api.send("PUT", "/v1/gates/stripe", paused=True)
    job_id = api.job(gates=["stripe"])
    simulation.let_pass(120)
    api.send("PUT", "/v1/gates/stripe", in_flight=5)
    simulation.let_pass(60)
    found = Explained(api, job_id)
    assert found.first == "succeeded"
    waits, starts = (next(at for at, text in enumerate(found.story) if part in text) for part in ("wait", "started"))
    assert found.story[waits] == "began to wait at gate stripe: the gate was paused"
    assert waits < starts


def test_a_run_that_was_skipped_at_a_full_gate_says_which_run_had_the_place(world: World) -> None:
    api, simulation = Api(world), Simulation(world)
    api.send("PUT", "/v1/gates/sms", in_flight=1)
    worker = a_worker(api, resources={"concurrency": 4})
    slow = api.job(target=SHELL, gates=["sms"], timeout_seconds=3600)
    run = worker.take()
    late = api.job(target=SHELL, gates=["sms"], start_within_seconds=20)
    assert worker.lease() == []
    simulation.let_pass(25)
    worker.complete(run)
    simulation.let_pass(60)
    held = f"because 1 of 1 place was in use, the longest by {slow}"
    assert Explained(api, late).reasons["skipped"].endswith(f"; it waited at gate sms, {held}")


def test_a_run_that_found_a_place_at_once_did_not_wait(world: World) -> None:
    api, simulation = Api(world), Simulation(world)
    api.send("PUT", "/v1/gates/stripe", in_flight=5)
    job_id = api.job(gates=["stripe"])
    simulation.let_pass(60)
    assert not any("wait" in text for text in Explained(api, job_id).story)
