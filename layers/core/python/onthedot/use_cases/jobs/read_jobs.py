"""Read a job by its id. Another tenant's job gives exactly the same answer as a missing one."""

from onthedot.domain.errors import JobNotFound
from onthedot.domain.ids import is_stamped
from onthedot.domain.runs.records import Record, Status
from onthedot.ports import Engine


def read_job(engine: Engine, tenant: str, job_id: str) -> Record:
    """Return the tenant's job. Raise JobNotFound, also for the id of a stamped run."""
    run = None if is_stamped(job_id) else engine.store.get(job_id)
    if run is None or run.tenant != tenant or run.status is Status.DELETED:
        raise JobNotFound(job_id)
    return run
