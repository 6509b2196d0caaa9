"""Do one tick for the slots that are known to have entries.

An engine in one process knows them, so that this tick reads no empty slot and keeps no progress. It claims and sweeps
by the same moves as the tick of a group of shards.
"""

from collections import Counter
from collections.abc import Sequence

from onthedot.domain.ids import fresh_generation
from onthedot.ports import Deadline, Engine, Tick
from onthedot.use_cases.dispatch.claim_slots import Pass, claim_slot
from onthedot.use_cases.dispatch.dispatch_due import guarded, sweep_in_pass


def dispatch_slots(
    engine: Engine, fire_slots: Sequence[str], watch_slots: Sequence[str], deadline: Deadline
) -> Counter[str]:
    """Claim the runs of the fire slots, sweep the watch slots, and return the counts of the tick.

    A slot that fails is counted and logged, and the others are visited all the same.
    """
    now = engine.clock.now()
    tick_id = fresh_generation()
    work = Pass(engine, Tick(0, (0,), now, tick_id), now, deadline, f"{tick_id}/{fresh_generation()}")
    for slot in fire_slots:
        guarded(work, slot, lambda: claim_slot(work, slot))  # noqa: B023 - called at once
    for slot in watch_slots:
        guarded(work, slot, lambda: sweep_in_pass(work, slot))  # noqa: B023 - called at once
    return work.counts
