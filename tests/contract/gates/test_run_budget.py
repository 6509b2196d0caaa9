"""What a run at gates costs, in write units, refused writes counted: the budget of the design, on MiniStack."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from localstack.write_units import counted_units
from onthedot.core.gate_names import GateId
from onthedot.core.ids import fresh_generation, fresh_job_id
from onthedot.core.ports import Answer
from onthedot.core.records import Record, Status
from onthedot.gates.give_back import give_back
from onthedot.gates.limits import GateLimits
from onthedot.gates.state import Holder
from tests.contract.runs.test_budget import Life
from tests.contract.runs.test_budget import life as life  # noqa: PLC0414 - a fixture

WITHOUT_GATES = 6
FOR_A_PLACE = 3
FOR_WAITING = 12
FINE = Answer(ok=True, result='{"ok":true}')


@contextmanager
def counted(life: Life) -> Iterator[None]:
    """Count the writes of another process too."""
    with counted_units(life.clients.dynamodb) as units:
        yield
    life.store.units += units


def executed(life: Life, run: Record) -> Record:
    """Execute the run as it is stored now. Return it as it is then."""
    life.execute(stored(life, run), FINE)
    return stored(life, run)


def stored(life: Life, run: Record) -> Record:
    found = life.store.get(run.run_id)
    assert found is not None
    return found


@pytest.mark.parametrize("limit", [1, 8, 100, 1_000])
@pytest.mark.parametrize("named", ["stripe", "customer:42"])
def test_a_run_that_finds_a_place_costs_at_most_three_units_more(life: Life, named: str, limit: int) -> None:
    life.engine.gates.put("acme", named.partition(":")[0], GateLimits(in_flight=limit))
    executed(life, life.submit(0, named))  # the first one lays the pages out
    life.store.units.clear()
    assert executed(life, life.submit(0, named)).status is Status.SUCCEEDED
    assert sum(life.store.units) <= WITHOUT_GATES + FOR_A_PLACE, life.store.units


def test_a_run_at_a_gate_with_a_rate_costs_at_most_three_units_more(life: Life) -> None:
    life.engine.gates.put("acme", "stripe", GateLimits(in_flight=5, per_second=100))
    assert executed(life, life.submit(0, "stripe")).status is Status.SUCCEEDED
    assert sum(life.store.units) <= WITHOUT_GATES + FOR_A_PLACE, life.store.units


def test_three_gates_cost_at_most_three_units_each(life: Life) -> None:
    for name in ("a", "b", "c"):
        life.engine.gates.put("acme", name, GateLimits(in_flight=5))
    executed(life, life.submit(0, "a", "b", "c"))
    assert sum(life.store.units) <= WITHOUT_GATES + 3 * FOR_A_PLACE, life.store.units


def test_a_gate_without_limits_costs_nothing(life: Life) -> None:
    life.engine.gates.put("acme", "open", GateLimits())
    executed(life, life.submit(0, "open"))
    assert life.store.units == [3, 1, 2]


@pytest.mark.parametrize("named", ["stripe", "customer:42"])
def test_a_run_that_waits_once_costs_at_most_twelve_units_more(life: Life, named: str) -> None:
    """The first one that waits pays for the flags."""
    assert units_of_waiting(life, named) <= FOR_WAITING, life.store.units


def test_a_run_that_waits_at_another_key_of_a_flagged_gate_costs_at_most_twelve_units_more(life: Life) -> None:
    units_of_waiting(life, "customer:41")
    life.clock.advance(10)
    life.store.units.clear()
    assert units_of_waiting(life, "customer:42") <= FOR_WAITING, life.store.units


def units_of_waiting(life: Life, named: str) -> float:
    """Let a run wait for the one place, wake it and run it. Return the units beyond those of a run without gates."""
    life.engine.gates.put("acme", named.partition(":")[0], GateLimits(in_flight=1))
    before = Holder(fresh_generation(), fresh_generation(), life.clock.now(), fresh_job_id())
    assert life.engine.gates.take(GateId.of("acme", named), 0, before, room=1, newcomer=True, capacity=None).done
    waiting = executed(life, life.submit(0, named))
    assert waiting.status is Status.PENDING
    with counted(life):
        give_back(life.engine, "acme", [f"0#{named}"], before)
    of_the_other = 1  # it gives its place back whether or not a run waits
    assert executed(life, waiting).status is Status.SUCCEEDED
    return sum(life.store.units) - WITHOUT_GATES - of_the_other
