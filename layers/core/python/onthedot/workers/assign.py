"""Assign a run to a worker by name, and give back a run that a worker cannot take."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from onthedot.core import lifecycle, patience
from onthedot.core.errors import InvalidRequest, JobConflict, OnthedotError, Problem, Unavailable
from onthedot.core.ids import extra_run_id, fresh_generation
from onthedot.core.moves import applied
from onthedot.core.outcomes import is_record_written
from onthedot.core.pools import MOST_RECEIVES, Needs, PoolKind, worker_needs
from onthedot.core.ports import Deadline, Moved, Received, RunMessage
from onthedot.core.records import SCHEDULED, Definition, Kind, Record, Status
from onthedot.core.send import message_for
from onthedot.core.stamping import new_run
from onthedot.core.start import definition_of
from onthedot.engine import Engine
from onthedot.gates.wait import flag_again
from onthedot.jobs.change_log import ChangeAction, ChangeNote, noted
from onthedot.jobs.changes import assign
from onthedot.jobs.list_runs import read_job
from onthedot.jobs.run_extra import refuse_stopped
from onthedot.workers.records import MOST_ASSIGNED, WorkerRecord, WorkerStatus
from onthedot.workers.registrations import end_wait, see_worker

BUSY_HIDE_MS: Final = 1_000
ASSIGNED_HIDE_MS: Final = 15_000
"""How long to hide a message whose run was assigned to another worker. After that, it may be assigned again.

The other worker takes it with its next lease, if it lives and no gate refuses the run meanwhile."""


@dataclass(slots=True)
class OtherWorkers:
    """The other live workers of a worker's pool. A lease call reads them at most once."""

    engine: Engine
    unable: WorkerRecord
    _live: list[WorkerRecord] | None = None

    def take(self, message: RunMessage, needs: Needs | None) -> int | None:
        """Assign the run to a worker that can run it, and return how long to hide its message.

        None: no live worker can run it, or none is known because the registry cannot be read. `needs` that are None are
        read, if a worker serves the tenant.
        """
        try:
            return self._assign(message.run_id, self._able_to_run(message, needs))
        except OnthedotError:
            return None

    def _assign(self, run_id: str, able: list[WorkerRecord]) -> int | None:
        if not able:
            return None
        least = min(able, key=lambda worker: len(worker.assigned))
        if run_id in least.assigned:
            return ASSIGNED_HIDE_MS
        if len(least.assigned) >= MOST_ASSIGNED:
            return BUSY_HIDE_MS
        if not self.engine.registry.assign(least.worker_id, run_id):
            return None
        end_wait(self.engine, least.worker_id)
        told = replace(least, assigned=least.assigned | {run_id})
        self._live = [told if worker is least else worker for worker in self._live or ()]
        return ASSIGNED_HIDE_MS

    def _able_to_run(self, message: RunMessage, needs: Needs | None) -> list[WorkerRecord]:
        serving = [worker for worker in self._others() if worker.tenant in (None, message.tenant)]
        if serving and needs is None and (run := self.engine.store.get(message.run_id)) is not None:
            definition = definition_of(self.engine, run)
            needs = None if definition is None else needs_of_definition(definition)
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
    return worker_needs(definition.target, definition.requirements, definition.timeout_seconds)


TRIES: Final = 5


def assign_to_worker(engine: Engine, tenant: str, job_id: str, worker_id: str, by: str | None = None) -> Record:
    """Assign a job to the worker that a client names, and return the run that the worker will get.

    `by` names the client. A one-off job that is due and waits is assigned itself. Any other job gets an extra run,
    now. Raise JobNotFound, WorkerNotFound, JobConflict or Unavailable, and InvalidRequest for a worker that cannot
    run the job.
    """
    for _ in range(TRIES):
        job = read_job(engine, tenant, job_id)
        worker = see_worker(engine, tenant, worker_id)
        refuse_stopped(job, "be assigned to a worker")
        _refuse_unable(engine, job, worker)
        run = _stored(engine, job, worker, by)
        if run is not None:
            # An API that dies before this line costs time: the sweep finds the run in its watch slot.
            engine.registry.assign(worker_id, run.run_id)
            end_wait(engine, worker_id)
            return run
    raise Unavailable(f"{job_id} keeps changing; try again")


def _stored(engine: Engine, job: Record, worker: WorkerRecord, by: str | None) -> Record | None:
    """Store the run for the worker. None: the job changed meanwhile."""
    now = engine.clock.now()
    if job.kind is Kind.ONE_OFF and job.status in SCHEDULED and job.due_at <= now:
        move = noted(job, assign(job, worker.pool, now, engine.deployment), ChangeNote(now, ChangeAction.ASSIGN, by))
        return applied(job, move) if isinstance(engine.store.move(move), Moved) else None
    run_id = extra_run_id(job.job_id, now, f"manual-{fresh_generation()}")
    run = new_run(job, run_id, now, now, now=now, deployment=engine.deployment, trigger="manual")
    run = replace(run, pool=worker.pool)
    engine.store.create(run)
    return run


def _refuse_unable(engine: Engine, job: Record, worker: WorkerRecord) -> None:
    now = engine.clock.now()
    if worker.status(now) is not WorkerStatus.ACTIVE:
        raise JobConflict(f"worker {worker.worker_id} is {worker.status(now)}; choose an ACTIVE one")
    if len(worker.assigned) >= MOST_ASSIGNED:
        raise JobConflict(f"{MOST_ASSIGNED} runs wait for worker {worker.worker_id} already; choose another, or none")
    if job.definition is None:
        return
    needs = needs_of_definition(job.definition)
    if not worker.can_do(needs):
        lacking = ", ".join(sorted(needs.capabilities - worker.capabilities)) or "cpu, memory_mb or storage_mb"
        raise InvalidRequest(Problem("worker_id", f"this worker cannot run the job: it lacks {lacking}"))


RENEW_AFTER: Final = MOST_RECEIVES[PoolKind.PULL] // 5
RENEWED_DELAY_MS: Final = 30_000
"""The delay of a renewed message. It must not arrive before the run has its new generation, so half of it is for that
write."""


def give_back(engine: Engine, received: Received, after_ms: int | None) -> None:
    """Have the message delivered again after this time. None, or a failure: when the time of its receive is over."""
    with suppress(OnthedotError):
        if received.receive_count >= RENEW_AFTER and _renew(engine, received.message):
            engine.queues.delete(received)
        elif after_ms is not None:
            engine.queues.hide(received, after_ms)


def delete(engine: Engine, received: Received) -> None:
    """Delete a message that is no longer needed. If this fails, the queue delivers it again by itself."""
    with suppress(OnthedotError):
        engine.queues.delete(received)


def _renew(engine: Engine, message: RunMessage) -> bool:
    """Replace the message by a new one. Return whether the old one is no longer needed.

    The new message is sent before the run gets its generation. So the run has one valid message at every moment, also
    when this process dies between the steps, and all its other messages are stale at the end.
    """
    run = engine.store.get(message.run_id)
    if run is None:
        return True
    if run.generation != message.generation:
        flag_again(engine, run)
        return True
    if run.status is not Status.DISPATCHED:
        return False
    now = engine.clock.now()
    move = lifecycle.renew(run, fresh_generation())
    renewed = applied(run, move)
    sent = replace(message_for(renewed), due_at=now + RENEWED_DELAY_MS)
    unsent = engine.queues.send([sent], Deadline.after(now, patience.SEND_MS))
    if unsent or engine.clock.now() > now + RENEWED_DELAY_MS // 2:
        return False
    return is_record_written(renewed, engine.store.move(move))
