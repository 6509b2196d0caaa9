"""Delete a job: it never fires again, and its id stays in use for 14 days."""

from onthedot.domain.errors import Unavailable
from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs import lifecycle
from onthedot.ports import Engine
from onthedot.use_cases.events import pattern_index
from onthedot.use_cases.jobs.change_job import TRIES
from onthedot.use_cases.jobs.given_up import store_given_up, with_given_up
from onthedot.use_cases.jobs.read_jobs import read_job
from onthedot.use_cases.outcomes import is_record_written
from onthedot.use_cases.workflows.notify_children import notify_children


def delete_job(engine: Engine, tenant: str, job_id: str) -> None:
    """Delete the job. Raise Unavailable, and JobNotFound also when another request deleted it first."""
    for _ in range(TRIES):
        run = read_job(engine, tenant, job_id)
        if run.given_up is not None:
            store_given_up(engine, run)  # the process that changed the job before died
            continue
        now = engine.clock.now()
        move = with_given_up(engine, run, lifecycle.delete(run, now, fresh_generation(), engine.deployment), now)
        deleted = lifecycle.applied(run, move)
        if is_record_written(deleted, engine.store.move(move)):
            store_given_up(engine, deleted)
            notify_children(engine, deleted)
            pattern_index.leave(engine, run, deleted)
            return
    raise Unavailable(f"{job_id} keeps changing; try again")
