"""A recurring job with two hours of history, in the table of the handler tests, or in another store."""

from dataclasses import replace

from onthedot.core.clock import SystemClock
from onthedot.core.ids import stamped_run_id
from onthedot.core.ports import RunStore
from onthedot.core.records import Kind, Record, Status
from onthedot.core.slots import fire_slot, shard_of
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.schedules.schedule import EverySchedule, Recurrence, Schedule
from tests.builders import a_run
from tests.handlers.conftest import TABLE, Cloud

PERIOD_MS = 600_000
RUNS = 12
AUDITED = RUNS - 1
"""The latest time is five minutes old: too near."""


def a_job_with_history(cloud: Cloud, *, without: int | None = None) -> Record:
    """Every ten minutes for two hours, all runs succeeded; one of them may be missing."""
    store = DynamoRunStore(cloud.client("dynamodb"), TABLE, SystemClock())
    return a_job_with_history_in(store, shards=2, without=without)


def a_job_with_history_in(store: RunStore, *, shards: int, without: int | None = None) -> Record:
    """Store the same job and its runs."""
    clock = SystemClock()
    now = clock.now()
    first = now - RUNS * PERIOD_MS + PERIOD_MS // 2
    job = replace(
        a_run(clock).build(),
        kind=Kind.RECURRING,
        status=Status.ACTIVE,
        created_at=first - 1,
        nominal_at=first,
        fire_at=first + RUNS * PERIOD_MS,
        recurrence=Recurrence(Schedule(EverySchedule(PERIOD_MS // 1000, first))),
        scheduled_since=first,
    )
    job = replace(job, slot=fire_slot(shard_of(job.job_id, shards), job.fire_at, now))
    store.create(job)
    for number in range(RUNS):
        if number != without:
            store.create(_succeeded(job, first + number * PERIOD_MS))
    return job


def _succeeded(job: Record, nominal: int) -> Record:
    run_id = stamped_run_id(job.job_id, nominal)
    run = replace(job, run_id=run_id, kind=Kind.STAMPED, status=Status.SUCCEEDED, slot=None, recurrence=None)
    return replace(run, definition=None, created_at=nominal - 1, nominal_at=nominal, fire_at=nominal)
