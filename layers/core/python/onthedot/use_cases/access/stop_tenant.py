"""Pause, resume or cancel all jobs of a tenant, one after the other."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from onthedot.access.tenant_data import TenantData
from onthedot.domain.access import NAME_RULE, RESERVED_TENANT, is_name
from onthedot.domain.errors import InvalidRequest, JobConflict, JobNotFound, OnthedotError, Problem
from onthedot.ports import Engine
from onthedot.use_cases.jobs.change_job import cancel_job, pause_job, resume_job

COMMAND: Final = "onthedot tenants"
"""The name of the client in the changes of the jobs: a command with AWS credentials has no token."""
_LOG: Final = logging.getLogger(__name__)


class Action(StrEnum):
    """The change of each job."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"


CHANGES: Final = {Action.PAUSE: pause_job, Action.RESUME: resume_job, Action.CANCEL: cancel_job}


@dataclass(frozen=True, slots=True)
class Changed:
    """The numbers of jobs so far."""

    done: int = 0
    unchanged: int = 0
    """Jobs that cannot be changed so, such as one that has ended meanwhile."""
    failed: int = 0
    """Jobs that could not be changed now. The same command tries them again."""


def change_jobs(
    engine: Engine, data: TenantData, tenant: str, action: Action, report: Callable[[Changed], None]
) -> Changed:
    """Change all jobs of a tenant that have not ended. One that fails does not stop the others.

    Call it again after a failure: it changes the jobs that are left. Raise InvalidRequest for a text that is no tenant,
    and Unavailable when the jobs cannot be read.
    """
    if not is_name(tenant) or tenant == RESERVED_TENANT:
        raise InvalidRequest(Problem("tenant", f"is not the name of a tenant; {NAME_RULE}"))
    changed, cursor = Changed(), None
    while True:
        page = data.jobs_page(tenant, cursor)
        for job_id in page.items:
            changed = _change(engine, tenant, job_id, action, changed)
            report(changed)
        cursor = page.cursor
        if cursor is None:
            return changed


def _change(engine: Engine, tenant: str, job_id: str, action: Action, so_far: Changed) -> Changed:
    try:
        CHANGES[action](engine, tenant, job_id, COMMAND)
    except (JobConflict, JobNotFound):
        return replace(so_far, unchanged=so_far.unchanged + 1)
    except OnthedotError as error:
        _LOG.warning("job_not_changed", extra={"job": job_id, "error": str(error)})
        return replace(so_far, failed=so_far.failed + 1)
    return replace(so_far, done=so_far.done + 1)
