"""Keep the canary: a job of the stage itself that fires once a minute, and whose runs are measured like all others.

Its tenant is reserved, so no user sees or changes it. Its target calls nothing.
"""

import logging
from typing import Final

from onthedot.access.tokens import RESERVED_TENANT
from onthedot.core import patience
from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.errors import JobNotFound, Unavailable
from onthedot.core.ids import job_id_for_key
from onthedot.core.ports import Deadline
from onthedot.core.records import Definition, Status
from onthedot.engine import Engine
from onthedot.jobs.change import delete_job
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.schedules.schedule import CronSchedule, Recurrence, Schedule
from onthedot.targets.types import CanaryTarget

_LOG: Final = logging.getLogger(__name__)
MOST_MADE: Final = 20
"""A canary that was deleted or cannot be read keeps its id for some days. The next one has another id."""


class CanaryKeeper:
    """Makes sure, once in each process, that the stage has its canary, or has none if the stage does not want one."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._done = False

    def keep(self, engine: Engine) -> None:
        """Make or delete the canary if necessary. A failure is logged, stops nothing, and is tried again."""
        if self._done:
            return
        try:
            if not engine.stage.read().is_open:
                return
            self._done = ensure_canary(engine) if self._wanted else remove_canary(engine)
        except Exception:  # noqa: BLE001 - whatever is wrong with this job, ticks must go on
            _LOG.exception("canary_not_kept")


def ensure_canary(engine: Engine) -> bool:
    """Make the canary, unless there is one that fires. Return whether there is one now."""
    found = _look(engine)
    if Status.ACTIVE in found.values():
        return True
    free = next((key for key, status in found.items() if status is None), None)
    if free is None:
        _LOG.error("canary_not_made", extra={"why": f"{MOST_MADE} earlier ones are still stored"})
        return False
    job = submit_job(engine, RESERVED_TENANT, _request(free))
    _LOG.info("canary_made", extra={"job": job.job_id})
    return True


def remove_canary(engine: Engine) -> bool:
    for key, status in _look(engine).items():
        if status is Status.ACTIVE:
            try:
                delete_job(engine, RESERVED_TENANT, job_id_for_key(RESERVED_TENANT, key))
            except JobNotFound:
                continue  # another dispatcher deleted it
    return True


def _look(engine: Engine) -> dict[str, str | None]:
    """Return the status of each canary that may be stored. None if there is none under this key."""
    ids = {f"canary-{number}": job_id_for_key(RESERVED_TENANT, f"canary-{number}") for number in range(MOST_MADE)}
    deadline = Deadline.after(engine.clock.now(), patience.READ_MS)
    read = engine.store.get_many(list(ids.values()), deadline)
    if read.unread:
        raise Unavailable("the canary cannot be read now")
    known = {job_id: job.status for job_id, job in read.found.items()} | dict.fromkeys(read.unreadable, "unreadable")
    return {key: known.get(job_id) for key, job_id in ids.items()}


def _request(key: str) -> JobRequest:
    definition = Definition(CanaryTarget(), retry=RetryPolicy(max_retries=0), timeout_seconds=10, name="canary")
    schedule = Recurrence(Schedule(CronSchedule("* * * * *")))
    return JobRequest(definition, "canary", Priority.MEDIUM, recurrence=schedule, idempotency_key=key)
