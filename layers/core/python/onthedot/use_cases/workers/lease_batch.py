"""The runs that one lease call starts for a worker, the resources that are left there, and the other workers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.domain.runs.records import Definition, Record, Status
from onthedot.domain.workers.pools import Needs
from onthedot.domain.workers.records import Resources, WorkerRecord
from onthedot.ports import Engine, Received, RunMessage
from onthedot.use_cases.attempts.start_run import Done, Redeliver, Started, Verdict
from onthedot.use_cases.workers.able_workers import OtherWorkers, needs_of_definition

HIDE_MS: Final = 3_000
NO_ROOM_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class LeasedRun:
    """A run that was started for the worker."""

    run: Record
    definition: Definition | None
    received: Received | None
    """Its message. None: the run was assigned to the worker."""
    alone: bool
    """The run lost a worker before, so no other run should run beside it."""


@dataclass(frozen=True, slots=True)
class LeasedRuns:
    """The runs of one lease call."""

    leases: Sequence[LeasedRun]
    alone_waiting: bool = False
    """A run that must be alone found the worker busy. The worker should take no more runs until it is idle."""


@dataclass(frozen=True, slots=True)
class ForOtherWorker(Redeliver):
    """The verdict on a run that this worker cannot take, but another worker may."""

    needs: Needs | None = None
    """The needs that the other worker must meet. None: they are not read yet, because the run is another tenant's."""


@dataclass(slots=True)
class LeaseBatch:
    """The runs that one lease call starts for a worker, and the resources that are left there."""

    engine: Engine
    worker: WorkerRecord
    most: int
    free: Resources
    idle: bool
    search_until: int
    """The instant after which the call looks no further for a first run."""
    leases: list[LeasedRun] = field(default_factory=list)
    alone_waiting: bool = False
    others: OtherWorkers = field(init=False)

    def __post_init__(self) -> None:
        self.others = OtherWorkers(self.engine, self.worker)

    @property
    def full(self) -> bool:
        return len(self.leases) >= self.most or any(lease.alone for lease in self.leases)

    def check_fit(self, message: RunMessage, definition: Definition | None) -> Verdict | None:
        """Decide whether the worker can take the run. It is checked before the start, which counts as an attempt."""
        run = self.engine.store.get(message.run_id)
        if run is None or run.generation != message.generation:
            return Done("stale")
        definition = definition or run.definition
        if definition is None or run.status is not Status.DISPATCHED:
            return None  # the start decides about it
        needs = needs_of_definition(definition)
        if not self.worker.can_do(needs):
            lacking = ", ".join(sorted(needs.capabilities - self.worker.capabilities)) or "resources"
            return ForOtherWorker(HIDE_MS, f"worker {self.worker.worker_id} lacks {lacking}", needs)
        if not self.free.fits(needs):
            return Redeliver(NO_ROOM_MS, "no room for it now")
        if run.losses and not (self.idle and not self.leases):
            self.alone_waiting = True
            return Redeliver(NO_ROOM_MS, "it must run alone")
        return None

    def add(self, started: Started, received: Received | None) -> None:
        self.leases.append(LeasedRun(started.run, started.definition, received, alone=started.run.losses > 0))
        if started.definition is not None:
            self.free = self.free.less(needs_of_definition(started.definition))
