"""Send runs to their queues. All messages are made here, for the API, the dispatcher, the workers and the sweep."""

from collections.abc import Sequence

from onthedot.domain.runs.records import Record
from onthedot.ports import Deadline, Engine, RunMessage, SlotEntry


def message_for(run: Record | SlotEntry) -> RunMessage:
    return RunMessage(
        run_id=run.run_id,
        generation=run.generation,
        fire_at=run.fire_at,
        tenant=run.tenant,
        priority=run.priority,
        pool=run.pool,
        gates=run.gates,
        woken=run.woken if isinstance(run, Record) else None,
        start_by=run.start_by,
        trace=run.trace if isinstance(run, Record) else None,
    )


def send_runs(engine: Engine, runs: Sequence[Record | SlotEntry], deadline: Deadline) -> int:
    """Send the runs' messages. Return how many could not be sent: these runs stay in a watch slot, for the sweep."""
    return len(engine.queues.send([message_for(run) for run in runs], deadline))
