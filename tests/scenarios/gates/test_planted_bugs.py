"""The checks of gates find bugs that are planted into the protocol, and find none without them."""

from collections.abc import Callable
from itertools import count

import pytest

from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.records import Definition
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.start import Started
from onthedot.gates.limits import GateLimits
from onthedot.jobs.change import cancel_job
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.targets.types import HttpTarget
from tests.scenarios.gates import planted
from tests.scenarios.gates.checks import Checks
from tests.scenarios.gates.life import a_life
from tests.scenarios.gates.one_place import GATE, one_place
from tests.scenarios.gates.planted import Plant
from tests.scenarios.gates.test_gate_crash_points import START, WAIT
from tests.scenarios.kits.faults import Fault, Faults
from tests.scenarios.kits.gated_world import a_gated_world

Story = Callable[[], list[str]]
"""Plays a story, and returns the problems that the checks find after it."""
MOST_WAITS = 5
LIVES = 25


def a_stopped_worker_starts_late() -> list[str]:
    """A worker is stopped between its place and its start, until a look has freed the place for another run."""
    with one_place() as gate:
        first, second = gate.submit(), gate.submit()
        attempts: list[object] = []

        def meanwhile() -> None:
            gate.start(second)
            gate.look()
            gate.receive()
            attempts.append(gate.start(second))

        attempts.append(gate.start(first, Faults(START.index("move to RUNNING"), Fault.MEANWHILE, meanwhile)))
        for started in attempts:
            if isinstance(started, Started):
                gate.keep(started, minutes=0)
        for started in attempts:
            if isinstance(started, Started):
                gate.finish(started)
        gate.simulation.let_pass(25 * 60)
        return gate.problems()


def a_worker_dies_while_a_run_goes_on_the_list() -> list[str]:
    problems = []
    for at in range(len(WAIT)):
        with one_place() as gate:
            first, second = gate.submit(), gate.submit()
            started = gate.started(first)
            gate.start(second, Faults(at, Fault.CRASH_AFTER))
            gate.finish(started)
            # If the message comes again, after a quarter of an hour, the run is found.
            gate.simulation.let_pass(10 * 60)
            problems += gate.problems()
    return problems


def a_stopped_worker_finishes_late() -> list[str]:
    """A worker is stopped longer than its lease, and finishes while the next attempt runs and another run comes."""
    with one_place() as gate:
        first = gate.submit()
        stopped = gate.started(first)
        gate.simulation.clock.advance(33)
        gate.start(first)
        gate.receive()
        again = gate.started(first)
        gate.finish(stopped)
        second = gate.submit()
        gate.work(second)
        gate.finish(again)
        gate.simulation.let_pass(25 * 60)
        return gate.problems()


def two_runs_come_at_once() -> list[str]:
    with one_place() as gate:
        runs = [gate.submit(), gate.submit()]
        for started in [gate.start(run) for run in runs]:
            if isinstance(started, Started):
                gate.finish(started)
        gate.simulation.let_pass(25 * 60)
        return gate.problems()


def a_limit_is_lowered_while_many_run() -> list[str]:
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
        gate.simulation.let_pass(25 * 60)
        return gate.problems()


def a_run_is_parked_while_a_look_leaves() -> list[str]:
    with one_place() as gate:
        first, second = gate.submit(), gate.submit()
        started = gate.started(first)
        gate.waits(second)
        gate.finish(started)
        gate.receive()
        started = gate.started(second)
        gate.keep(started)
        gate.look()
        gate.look(Faults(0, Fault.MEANWHILE, lambda: gate.start(gate.submit()), named="change gate"))
        gate.finish(started)
        gate.simulation.let_pass(25 * 60)
        return gate.problems()


def _busy(limits: GateLimits) -> list[str]:
    """Twelve runs of a second come at once to a gate. They have two minutes."""
    with a_gated_world(1) as gated:
        gated.world.gates.put(GATE.tenant, GATE.name, limits)
        retry = RetryPolicy(jitter=False)
        definition = Definition(HttpTarget("http://x/"), retry=retry)
        record = {"gates": (GATE.name,)}
        request = JobRequest(definition, "same", Priority.MEDIUM, DEFAULT_POOL, delay_ms=0, record=record)
        api = gated.machine()
        jobs = [submit_job(api, GATE.tenant, request) for _ in range(12)]
        gated.let_pass(120)
        checks = Checks(gated.journal)
        stored = [gated.world.store.get(job.run_id) for job in jobs]
        live = [f"{run.run_id} is {run.status}" for run in stored if run is not None and run.finished_at is None]
        restless = [f"{run} waited {times} times" for run, times in checks.waits.items() if times > MOST_WAITS]
        return [*live, *restless, *checks.strict()]


def many_wait_for_a_place() -> list[str]:
    return _busy(GateLimits(in_flight=1))


def many_wait_for_a_rate() -> list[str]:
    return _busy(GateLimits(per_second=5))


STORIES: list[tuple[Plant, Story]] = [
    (planted.no_fence_before_free, a_stopped_worker_starts_late),
    (planted.flag_after_park, a_worker_dies_while_a_run_goes_on_the_list),
    (planted.given_back_by_run, a_stopped_worker_finishes_late),
    (planted.one_place_too_many, two_runs_come_at_once),
    (planted.woken_stopped_by_flag, many_wait_for_a_place),
    (planted.rate_counted_before_wait, many_wait_for_a_rate),
    (planted.settled_too_early, a_limit_is_lowered_while_many_run),
    (planted.left_without_comparing, a_run_is_parked_while_a_look_leaves),
]


def test_each_planted_bug_has_a_story() -> None:
    assert {plant.__name__ for plant, _ in STORIES} == set(planted.PLANTS)


@pytest.mark.slow
@pytest.mark.parametrize(("plant", "story"), STORIES, ids=[plant.__name__ for plant, _ in STORIES])
def test_the_checks_find_a_planted_bug(plant: Plant, story: Story, caplog: pytest.LogCaptureFixture) -> None:
    assert story() == []
    with plant():
        problems = story()
    assert problems
    assert [record.exc_info for record in caplog.records if record.exc_info] == [], "the bug itself is broken"


@pytest.mark.slow
@pytest.mark.parametrize(
    "plant", [planted.one_place_too_many, planted.given_back_by_run, planted.rate_counted_before_wait]
)
def test_random_lives_find_a_planted_bug(plant: Plant) -> None:
    for seed in count():
        with plant(), a_life(seed) as life:
            life.play()
            if Checks(life.gated.journal).strict():
                return
        assert seed < LIVES, "not found"
