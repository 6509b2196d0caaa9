"""Pause, resume, cancel, change and delete a job."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.errors import PreconditionFailed, Unavailable
from onthedot.core.ids import fresh_generation
from onthedot.core.moves import Move, applied
from onthedot.core.outcomes import current_record, is_record_written, is_written
from onthedot.core.records import Kind, Record
from onthedot.core.stamp import store_given_up
from onthedot.engine import Engine
from onthedot.events import handle
from onthedot.jobs import changes
from onthedot.jobs.change_log import ChangeAction, ChangeNote, noted
from onthedot.jobs.changes import JobChange
from onthedot.jobs.given_up import with_given_up
from onthedot.jobs.list_runs import read_job
from onthedot.jobs.schedule_soon import schedule_soon

TRIES: Final = 8


def pause_job(engine: Engine, tenant: str, job_id: str, by: str | None = None) -> Record:
    """`by` names the client. Raise JobNotFound, JobConflict or Unavailable."""
    return _change(engine, tenant, job_id, changes.pause, ChangeAction.PAUSE, by)[1]


def resume_job(engine: Engine, tenant: str, job_id: str, by: str | None = None) -> Record:
    """`by` names the client. Raise JobNotFound, JobConflict or Unavailable."""
    decide = partial(changes.resume, deployment=engine.deployment)
    before, job = _change(engine, tenant, job_id, decide, ChangeAction.RESUME, by)
    return _schedule_again(engine, before, job)


def cancel_job(engine: Engine, tenant: str, job_id: str, by: str | None = None) -> Record:
    """`by` names the client. Raise JobNotFound, JobConflict or Unavailable."""
    decide = partial(changes.cancel, deployment=engine.deployment)
    return _change(engine, tenant, job_id, decide, ChangeAction.CANCEL, by)[1]


def change_job(
    engine: Engine,
    tenant: str,
    job_id: str,
    make_change: Callable[[Record, int], JobChange],
    if_match: int | None,
    *,
    by: str | None = None,
    fields: Iterable[str] = (),
) -> Record:
    """Apply the change that `make_change` makes from the job as it is now, and return the changed job.

    `by` names the client, and `fields` the fields that it sent. Raise JobNotFound, JobConflict or Unavailable. Raise
    PreconditionFailed when the job has another version than `if_match`.
    """

    def decide(job: Record, now: int) -> Move:
        if if_match is not None and job.version != if_match:
            raise PreconditionFailed(f"the job has version {job.version}, not {if_match}")
        return changes.change(job, make_change(job, now), now, engine.deployment)

    before, job = _change(engine, tenant, job_id, decide, ChangeAction.CHANGE, by, sorted(fields))
    return _schedule_again(engine, before, job)


def _schedule_again(engine: Engine, before: Record, job: Record) -> Record:
    """Schedule the changed job, unless it is a one-off that kept its generation: its message is still valid."""
    if job.kind is Kind.ONE_OFF and job.generation == before.generation:
        return job
    return schedule_soon(engine, job)


def _change(  # noqa: PLR0917
    engine: Engine,
    tenant: str,
    job_id: str,
    decide: Callable[[Record, int], Move | None],
    action: ChangeAction,
    by: str | None,
    fields: Sequence[str] = (),
) -> tuple[Record, Record]:
    """Change the job, and note who did what. Decide again if it has changed since. Return it before and after."""
    for _ in range(TRIES):
        job = read_job(engine, tenant, job_id)
        if job.given_up is not None:
            store_given_up(engine, job)  # the process that changed the job before died
            continue
        now = engine.clock.now()
        move = decide(job, now)
        if move is None:
            return job, job
        note = ChangeNote(now, action, by, tuple(fields))
        move = noted(job, with_given_up(engine, job, move, now), note)
        changed = applied(job, move)
        handle.enter_changed(engine, job, changed)
        outcome = engine.store.move(move)
        if is_written(outcome, partial(_is_alike, changed)):
            engine.notify_children(changed)
            handle.leave(engine, job, changed)
            return job, store_given_up(engine, changed)
        if changed.pattern_entry != job.pattern_entry:
            handle.leave(engine, changed, current_record(outcome))
    raise Unavailable(f"{job_id} keeps changing; try again")


def _is_alike(changed: Record, current: Record) -> bool:
    # Revision and notes may differ: when another request made the same change first, this one has succeeded too.
    return replace(current, revision=changed.revision, changes=changed.changes) == changed


def delete_job(engine: Engine, tenant: str, job_id: str) -> None:
    """Raise Unavailable, and JobNotFound also when another request deleted it first."""
    for _ in range(TRIES):
        run = read_job(engine, tenant, job_id)
        if run.given_up is not None:
            store_given_up(engine, run)  # the process that changed the job before died
            continue
        now = engine.clock.now()
        move = with_given_up(engine, run, lifecycle.delete(run, now, fresh_generation(), engine.deployment), now)
        deleted = applied(run, move)
        if is_record_written(deleted, engine.store.move(move)):
            store_given_up(engine, deleted)
            engine.notify_children(deleted)
            handle.leave(engine, run, deleted)
            return
    raise Unavailable(f"{job_id} keeps changing; try again")
