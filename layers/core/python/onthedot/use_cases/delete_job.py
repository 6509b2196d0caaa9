"""Delete a job: it never fires again, and its id stays taken for 14 days."""

from onthedot.domain import lifecycle
from onthedot.domain.errors import Unavailable
from onthedot.domain.ids import fresh_generation
from onthedot.domain.run import Status
from onthedot.ports import Engine, Moved, Refused
from onthedot.use_cases import pattern_index
from onthedot.use_cases.change_job import TRIES, record_what_is_given_up
from onthedot.use_cases.read_jobs import read_job
from onthedot.use_cases.release_children import release_children


def delete_job(engine: Engine, tenant: str, job_id: str) -> None:
    """Raises JobNotFound, also when somebody else deleted it first."""
    for _ in range(TRIES):
        run = read_job(engine, tenant, job_id)
        generation = fresh_generation()
        move = lifecycle.delete(run, engine.clock.now(), generation, engine.plan)
        outcome = engine.store.move(move)
        if isinstance(outcome, Moved) or _is_ours(outcome, generation):
            deleted = lifecycle.applied(run, move)
            record_what_is_given_up(engine, run, deleted)
            release_children(engine, deleted)
            pattern_index.leave(engine, run, deleted)
            return
    raise Unavailable(f"{job_id} keeps changing; try again")


def _is_ours(outcome: Refused, generation: str) -> bool:
    """A lost reply: the tombstone that refused us is the one we wrote."""
    current = outcome.current
    return current is not None and current.status is Status.DELETED and current.generation == generation
