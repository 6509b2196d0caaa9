"""Give back the places of an attempt that has ended, and wake the next run at each gate."""

import logging
from collections.abc import Iterable, Sequence
from typing import Final

from onthedot.core.engine import Accept, Permit
from onthedot.core.errors import OnthedotError
from onthedot.core.gate_names import GateId
from onthedot.core.ports import RunMessage
from onthedot.core.records import Record
from onthedot.engine import Engine
from onthedot.gates.state import Holder
from onthedot.gates.wake import LAG_MS, ReturnedPlace, wake_next

_LOG: Final = logging.getLogger(__name__)
NO_PAGE: Final = "-"
"""Stands for the page of a gate that has no places, because it limits the rate only."""
ASKED: Final = "@"
"""Stands before the time at which the attempt asked for its places, which a run keeps next to them."""


def _asked(held: Iterable[str], default: int) -> int:
    return next((int(one.removeprefix(ASKED)) for one in held if one.startswith(ASKED)), default)


def give_back_places(engine: Engine, run: Record, accept: Accept | None = None) -> Sequence[GateId]:
    """Give back the places of the attempt that `run`, as it was while it ran, had. Wake the next run at each gate.

    This raises nothing. A place that is not given back is freed by a look, as soon as a run waits for it. Return the
    gates at which `wake_late` may find a run that the index does not show yet.
    """
    holder = Holder(run.attempt_token or "", run.generation, _asked(run.held, run.started_at or 0), run.run_id)
    return give_back(engine, run.tenant, run.held, holder, accept)


def give_back_unused(engine: Engine, message: RunMessage, permit: Permit) -> None:
    holder = Holder(permit.token, message.generation, _asked(permit.held, permit.at), message.run_id)
    give_back(engine, message.tenant, permit.held, holder)


def wake_late(engine: Engine, gates: Sequence[GateId], accept: Accept | None = None) -> None:
    """Try once more to wake a run at each of these gates, after a moment. This raises nothing.

    An index that never lags has shown all runs already.
    """
    if not engine.index_lags:
        return
    if gates:
        engine.clock.sleep_until(engine.clock.now() + LAG_MS)
    for gate in gates:
        try:
            wake_next(engine, gate, accept=accept)
        except OnthedotError as error:
            _LOG.warning("not_woken", extra={"gate": gate.text, "error": str(error)})


def give_back(
    engine: Engine, tenant: str, held: Iterable[str], holder: Holder, accept: Accept | None = None
) -> Sequence[GateId]:
    """Give back places by their names, such as `0#stripe`. Return the gates at which a run may come late."""
    late = []
    for place in held:
        page, _, named = place.partition("#")
        if page.startswith(ASKED):
            continue
        gate = GateId.of(tenant, named)
        try:
            returned: ReturnedPlace | None = None
            if page != NO_PAGE:
                returned = int(page), engine.gates.give_back(gate, int(page), holder)
            if not wake_next(engine, gate, returned, accept):
                late.append(gate)
        except OnthedotError as error:
            _LOG.warning("place_not_given_back", extra={"gate": gate.text, "run": holder.run_id, "error": str(error)})
    return late
