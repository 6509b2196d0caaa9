"""A run starts when it has its places: in the records, it does not overlap the run that had the place before."""

import pytest

from onthedot.core import lifecycle
from onthedot.core.finish import FENCED_OFF
from onthedot.core.gate_names import GateId
from onthedot.core.lifecycle import LEASE_MS
from onthedot.core.moves import Move
from onthedot.core.patience import ASK_MS
from onthedot.core.records import Status
from onthedot.core.start import Done
from onthedot.gates import rate
from onthedot.gates.limits import GateLimits
from onthedot.gates.state import GateState
from tests.scenarios.gates.test_hand_over import GATE, Chain
from tests.scenarios.gates.test_hand_over import chain as chain  # noqa: PLC0414 - a fixture


def test_the_start_is_after_the_place_was_taken_and_the_place_is_given_back(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.during.clear()
    take, clock = chain.world.gates.take, chain.world.clock
    taken: list[int] = []

    def take_slowly(*given: object, **how: object) -> object:
        clock.advance(1)
        answer = take(*given, **how)  # type: ignore[arg-type]
        taken.append(clock.now())
        return answer

    monkeypatch.setattr(chain.world.gates, "take", take_slowly)
    chain.execute()
    run = chain.simulation.stored(chain.runs[0])
    assert run.status is Status.SUCCEEDED
    assert [run.attempts[0].started_at] == taken
    assert chain.world.gates.read(GateId("acme", GATE)).holders == frozenset()


def test_an_attempt_that_was_fenced_off_gives_its_place_back(chain: Chain) -> None:
    """The process that declared it lost has died before it did so."""
    world = chain.world

    def lost_meanwhile() -> None:
        running = chain.simulation.stored(chain.runs[0])
        lose = lifecycle.lose(running, world.clock.now(), generation="g2", deployment=world.deployment, how="lost")
        world.store.move(lose)

    chain.during[1] = lost_meanwhile
    assert chain.execute()[1] == Done(FENCED_OFF)
    assert chain.holders() == 0


def test_a_worker_that_was_stopped_while_it_asked_its_gates_asks_again(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, world = chain.world.gates.take, chain.world
    stops = [ASK_MS / 1000 + 0.5]

    def stopped(*given: object, **how: object) -> object:
        answer = take(*given, **how)  # type: ignore[arg-type]
        if stops:
            world.gates.put("acme", GATE, GateLimits(in_flight=1, paused=True))
            world.clock.advance(stops.pop())
        return answer

    monkeypatch.setattr(world.gates, "take", stopped)
    chain.execute()
    assert chain.calls == []
    assert chain.simulation.status(chain.runs[0]) is Status.PENDING
    assert chain.holders() == 0


def test_a_run_without_gates_keeps_nothing_about_them(chain: Chain) -> None:
    chain.world.gates.put("acme", GATE, None)
    held: list[tuple[str, ...]] = []
    chain.during[1] = lambda: held.append(chain.simulation.stored(chain.runs[0]).held)
    chain.execute()
    assert held == [()]


def test_a_worker_that_was_stopped_before_it_counts_its_start_does_not_undo_the_starts_of_others(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = GateLimits(per_second=2)
    chain.world.gates.put("acme", GATE, limits)
    gate, clock, read = GateId("acme", GATE), chain.world.clock, chain.world.gates.read
    others: list[int] = []

    def stopped(asked: GateId) -> GateState:
        """Stop the worker at its second read, while another one starts a run a minute later."""
        others.append(clock.now())
        if len(others) == 2:
            clock.advance(60)
            others.append(clock.now())
            chain.world.gates.change(gate, rate.start(limits, read(gate), clock.now()))
        return read(asked)

    monkeypatch.setattr(chain.world.gates, "read", stopped)
    chain.during.clear()
    chain.execute()
    last = others[2]
    run = chain.simulation.stored(chain.runs[0])
    started = [one.started_at for one in run.attempts]
    assert all(abs(at - last) >= 500 for at in started), (started, last)
    assert (read(gate).next_start or 0) >= (last + 500) * 1000


def test_a_worker_that_was_stopped_for_a_whole_lease_while_it_started_a_run_does_not_perform_it(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.during.clear()
    clock, move = chain.world.clock, chain.world.store.move
    stops = [LEASE_MS // 1000 + 60]

    def stopped(given: Move) -> object:
        if given.to is Status.RUNNING and stops:
            clock.advance(stops.pop())
        return move(given)

    monkeypatch.setattr(chain.world.store, "move", stopped)
    chain.execute()
    run = chain.simulation.stored(chain.runs[0])
    assert chain.calls == []
    assert run.status is not Status.RUNNING
    assert chain.world.gates.read(GateId("acme", GATE)).holders == frozenset()


def test_two_workers_that_read_the_same_state_do_not_start_at_the_same_instant_of_a_rate(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = GateLimits(per_second=2)
    chain.world.gates.put("acme", GATE, limits)
    gate, clock, read = GateId("acme", GATE), chain.world.clock, chain.world.gates.read
    others: list[int] = []

    def overtaken(asked: GateId) -> GateState:
        """Let another worker start a run just after this one has read the gate for the second time."""
        state = read(asked)
        others.append(clock.now())
        if len(others) == 2:
            chain.world.gates.change(gate, rate.start(limits, state, clock.now()))
        return state

    monkeypatch.setattr(chain.world.gates, "read", overtaken)
    chain.during.clear()
    chain.execute()
    chain.simulation.let_pass(1, ticking=False)
    [attempt] = chain.simulation.stored(chain.runs[0]).attempts
    assert attempt.started_at >= others[1] + 500


def test_the_rate_counts_from_the_start_and_not_from_the_question(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.world.gates.put("acme", GATE, GateLimits(in_flight=1, per_second=2))
    take, clock = chain.world.gates.take, chain.world.clock

    def take_slowly(*given: object, **how: object) -> object:
        clock.advance(0.4)
        return take(*given, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(chain.world.gates, "take", take_slowly)
    chain.during.clear()
    chain.execute()
    [attempt] = chain.simulation.stored(chain.runs[0]).attempts
    assert chain.world.gates.read(GateId("acme", GATE)).next_start == (attempt.started_at + 500) * 1000
