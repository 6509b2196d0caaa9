"""Read a job by its id. Another tenant's job gives exactly the same answer as a missing one."""

from onthedot.domain.errors import JobNotFound, UnreadableRecord
from onthedot.domain.ids import is_stamped
from onthedot.domain.runs.records import Record, Status
from onthedot.ports import Engine


def read_own(engine: Engine, tenant: str, run_id: str) -> Record | None:
    """Return the record. Raise UnreadableRecord for a record of the tenant, and JobNotFound for that of another."""
    try:
        return engine.store.get(run_id)
    except UnreadableRecord as error:
        if error.record.tenant != tenant:
            raise JobNotFound(run_id) from None
        raise


def read_job(engine: Engine, tenant: str, job_id: str) -> Record:
    """Return the tenant's job. Raise JobNotFound, also for the id of a stamped run, and UnreadableRecord."""
    run = None if is_stamped(job_id) else read_own(engine, tenant, job_id)
    if run is None or run.tenant != tenant or run.status is Status.DELETED:
        raise JobNotFound(job_id)
    return run
