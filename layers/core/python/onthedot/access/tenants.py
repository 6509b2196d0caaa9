"""Delete the data of a tenant: its jobs, runs, blobs, gates, workers, keys, tokens and limits.

First the tenant is stopped: no more of its runs start, and its tokens are revoked. The limits that stop it are
deleted last. So after a crash at any point the tenant stays stopped, and the next call deletes the rest.

Records are deleted as they are, also those of attempts under way. Such an attempt can no longer end: each of its
writes expects its record, and its worker stops the call when it cannot extend the lease.

A process that read a record before the deletion may write another one after it. So the store is read again when all
such processes have ended, until a whole pass finds nothing.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from onthedot.access.tenant_data import TenantData
from onthedot.access.tokens import tenant_problems
from onthedot.core.errors import InvalidRequest, JobConflict, JobNotFound, OnthedotError, Unavailable
from onthedot.engine import Engine
from onthedot.gates.limits import TenantLimits
from onthedot.gates.manage import put_limits
from onthedot.jobs.change import cancel_job, pause_job, resume_job

SETTLED_MS: Final = 120_000
"""This long after the tenant was stopped, nothing writes for it. API Gateway accepts a revoked token for 50
seconds, and a request takes 28 seconds at most. A tick takes 90 seconds at most. A lease lasts 30 seconds."""
STOPPED_MS: Final = 40_000
"""This long after its record was deleted, an attempt writes no more blobs: its worker has stopped the call."""
MOST_PASSES: Final = 10
_TOKENS_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Deleted:
    tokens: int = 0
    entries: int = 0
    """Items of the table: records, gates, patterns and the rest."""
    blobs: int = 0


Report = Callable[[str, Deleted], None]
"""It gets the current step as a few words, and the numbers so far, after each page."""


def delete_tenant(engine: Engine, data: TenantData, tenant: str, report: Report) -> Deleted:
    """Delete all data of a tenant, and return the numbers. Other tenants' data stays as it is.

    Raise InvalidRequest for a text that is not a tenant. Raise Unavailable: then the tenant stays stopped, and the
    caller must call again.
    """
    if problems := tenant_problems(tenant):
        raise InvalidRequest(*problems)
    report("stopping the tenant", Deleted())
    put_limits(engine, tenant, TenantLimits(paused=True))
    deleted = _revoke_tokens(engine, tenant, report)
    stopped_at = engine.clock.now()
    deleted = _one_pass(data, tenant, deleted, report)
    report("waiting until nothing writes to it", deleted)
    engine.clock.sleep_until(max(stopped_at + SETTLED_MS, engine.clock.now() + STOPPED_MS))
    deleted = _until_nothing_is_left(data, tenant, deleted, report)
    engine.limits.put(tenant, None)
    return deleted


def _revoke_tokens(engine: Engine, tenant: str, report: Report) -> Deleted:
    deleted = Deleted()
    cursor: str | None = None
    while True:
        page = engine.tokens.page(_TOKENS_AT_ONCE, cursor, tenant)
        for token in page.items:
            engine.tokens.remove(token.id)
        deleted = replace(deleted, tokens=deleted.tokens + len(page.items))
        report("revoking its tokens", deleted)
        cursor = page.cursor
        if cursor is None:
            return deleted


def _until_nothing_is_left(data: TenantData, tenant: str, deleted: Deleted, report: Report) -> Deleted:
    for _ in range(MOST_PASSES):
        before, deleted = deleted, _one_pass(data, tenant, deleted, report)
        if deleted == before:
            return deleted
    raise Unavailable(f"{tenant} is still being written; find out by which program, and delete it again")


def _one_pass(data: TenantData, tenant: str, deleted: Deleted, report: Report) -> Deleted:
    while number := data.delete_blobs(tenant):
        deleted = replace(deleted, blobs=deleted.blobs + number)
        report("deleting its blobs", deleted)
    cursor: str | None = None
    while True:
        entries, cursor = data.delete_page(tenant, cursor)
        deleted = replace(deleted, entries=deleted.entries + entries)
        report("deleting its jobs, runs and the rest", deleted)
        if cursor is None:
            return deleted


COMMAND: Final = "onthedot tenants"
"""The name of the client in the changes of the jobs: a command with AWS credentials has no token."""
_LOG: Final = logging.getLogger(__name__)


class Action(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"


CHANGES: Final = {Action.PAUSE: pause_job, Action.RESUME: resume_job, Action.CANCEL: cancel_job}


@dataclass(frozen=True, slots=True)
class Changed:
    done: int = 0
    unchanged: int = 0
    """Jobs that cannot be changed so, such as one that has ended meanwhile."""
    failed: int = 0
    """Jobs that could not be changed now. The same command tries them again."""


def change_jobs(
    engine: Engine, data: TenantData, tenant: str, action: Action, report: Callable[[Changed], None]
) -> Changed:
    """Change all jobs of a tenant that have not ended. One that fails does not stop the others.

    Call it again after a failure: it changes the jobs that are left. Raise InvalidRequest for a text that is not a
    tenant, and Unavailable when the jobs cannot be read.
    """
    if problems := tenant_problems(tenant):
        raise InvalidRequest(*problems)
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
