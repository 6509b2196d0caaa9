"""Look a job up. Somebody else's job answers exactly like a missing one."""

from onthedot.domain.errors import JobNotFound
from onthedot.domain.ids import is_stamped
from onthedot.domain.runs.records import Record, Status
from onthedot.ports import Engine


def read_job(engine: Engine, tenant: str, job_id: str) -> Record:
    """The tenant's job; a stamped run is none. Raises JobNotFound."""
    run = None if is_stamped(job_id) else engine.store.get(job_id)
    if run is None or run.tenant != tenant or run.status is Status.DELETED:
        raise JobNotFound(job_id)
    return run
