"""Delete a job: it never fires again, and its id stays taken for 14 days."""

from onthedot.domain.errors import Unavailable
from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Status
from onthedot.ports import Engine, Moved, Refused
from onthedot.use_cases.events import pattern_index
from onthedot.use_cases.jobs.change_job import TRIES, record_what_is_given_up
from onthedot.use_cases.jobs.read_jobs import read_job
from onthedot.use_cases.workflows.notify_children import notify_children


def delete_job(engine: Engine, tenant: str, job_id: str) -> None:
    """Raises JobNotFound, also when somebody else deleted it first."""
    for _ in range(TRIES):
        run = read_job(engine, tenant, job_id)
        generation = fresh_generation()
        move = lifecycle.delete(run, engine.clock.now(), generation, engine.deployment)
        outcome = engine.store.move(move)
        if isinstance(outcome, Moved) or _is_ours(outcome, generation):
            deleted = lifecycle.applied(run, move)
            record_what_is_given_up(engine, run, deleted)
            notify_children(engine, deleted)
            pattern_index.leave(engine, run, deleted)
            return
    raise Unavailable(f"{job_id} keeps changing; try again")


def _is_ours(outcome: Refused, generation: str) -> bool:
    """A lost reply: the tombstone that refused us is the one we wrote."""
    current = outcome.current
    return current is not None and current.status is Status.DELETED and current.generation == generation
