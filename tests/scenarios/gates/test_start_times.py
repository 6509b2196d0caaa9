"""A run starts when it has its places: in the records, it does not overlap the run that had the place before."""

import pytest

from onthedot.domain.gates.names import GateId
from onthedot.domain.runs.records import Status
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


def test_a_run_without_gates_keeps_nothing_about_them(chain: Chain) -> None:
    chain.world.gates.put("acme", GATE, None)
    held: list[tuple[str, ...]] = []
    chain.during[1] = lambda: held.append(chain.simulation.stored(chain.runs[0]).held)
    chain.execute()
    assert held == [()]
