"""Find another worker for a run that a worker received and cannot take, and assign the run to it by name.

If the message stayed in the queue, the worker that polls for the longest would receive it again and again, and not the
worker that can run it.
"""

from dataclasses import dataclass, replace
from enum import Enum, auto

from onthedot.domain.errors import OnthedotError
from onthedot.domain.runs.records import Definition
from onthedot.domain.workers.pools import Needs, worker_needs
from onthedot.domain.workers.records import MOST_ASSIGNED, WorkerRecord, WorkerStatus
from onthedot.ports import Engine, RunMessage
from onthedot.use_cases.attempts.start_run import definition_of
from onthedot.use_cases.workers.lease_signals import end_wait


class HandOver(Enum):
    """What became of a run that a worker cannot take."""

    ASSIGNED = auto()
    """It is assigned to a live worker that can run it."""
    BUSY = auto()
    """Live workers can run it, and as many runs as allowed are assigned to each of them."""
    NO_WORKER = auto()
    """No live worker can run it, or none is known because the registry cannot be read."""


@dataclass(slots=True)
class OtherWorkers:
    """The other live workers of a worker's pool. A lease call reads them at most once."""

    engine: Engine
    unable: WorkerRecord
    _live: list[WorkerRecord] | None = None

    def take(self, message: RunMessage, needs: Needs | None) -> HandOver:
        """Assign the run to a worker that can run it. None as `needs`: they are read, if a worker serves the tenant."""
        try:
            return self._assign(message.run_id, self._able_to_run(message, needs))
        except OnthedotError:
            return HandOver.NO_WORKER

    def _assign(self, run_id: str, able: list[WorkerRecord]) -> HandOver:
        if not able:
            return HandOver.NO_WORKER
        least = min(able, key=lambda worker: len(worker.assigned))
        if run_id in least.assigned:
            return HandOver.ASSIGNED
        if len(least.assigned) >= MOST_ASSIGNED:
            return HandOver.BUSY
        if not self.engine.registry.assign(least.worker_id, run_id):
            return HandOver.NO_WORKER
        end_wait(self.engine, least.worker_id)
        told = replace(least, assigned=least.assigned | {run_id})
        self._live = [told if worker is least else worker for worker in self._live or ()]
        return HandOver.ASSIGNED

    def _able_to_run(self, message: RunMessage, needs: Needs | None) -> list[WorkerRecord]:
        serving = [worker for worker in self._others() if worker.tenant in (None, message.tenant)]
        needs = needs if needs or not serving else _needs_of_run(self.engine, message.run_id)
        return [] if needs is None else [worker for worker in serving if worker.can_do(needs)]

    def _others(self) -> list[WorkerRecord]:
        if self._live is None:
            now = self.engine.clock.now()
            self._live = [
                worker
                for worker in self.engine.registry.workers()
                if worker.pool == self.unable.pool
                and worker.worker_id != self.unable.worker_id
                and worker.status(now) is WorkerStatus.ACTIVE
            ]
        return self._live


def needs_of_definition(definition: Definition) -> Needs:
    """Return the needs that a worker must meet for this work."""
    return worker_needs(definition.target, definition.requirements, definition.timeout_seconds)


def _needs_of_run(engine: Engine, run_id: str) -> Needs | None:
    run = engine.store.get(run_id)
    definition = None if run is None else definition_of(engine, run)
    return None if definition is None else needs_of_definition(definition)
