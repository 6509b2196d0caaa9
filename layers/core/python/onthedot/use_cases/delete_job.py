"""Delete a job: it never fires again, and its id stays taken for 14 days."""

from onthedot.domain import lifecycle
from onthedot.domain.errors import JobNotFound
from onthedot.domain.ids import fresh_generation
from onthedot.domain.run import Status
from onthedot.ports import Engine, Refused
from onthedot.use_cases.change_job import record_what_is_given_up
from onthedot.use_cases.read_jobs import read_job


def delete_job(engine: Engine, tenant: str, job_id: str) -> None:
    """Raises JobNotFound, also when somebody else deleted it first."""
    run = read_job(engine, tenant, job_id)
    generation = fresh_generation()
    move = lifecycle.delete(run, engine.clock.now(), generation)
    outcome = engine.store.move(move)
    if isinstance(outcome, Refused) and not _is_ours(outcome, generation):
        raise JobNotFound(job_id)
    record_what_is_given_up(engine, run, lifecycle.applied(run, move))


def _is_ours(outcome: Refused, generation: str) -> bool:
    """A lost reply: the tombstone that refused us is the one we wrote."""
    current = outcome.current
    return current is not None and current.status is Status.DELETED and current.generation == generation
