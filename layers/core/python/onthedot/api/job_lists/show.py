"""Show jobs in lists."""

from collections.abc import Sequence

from onthedot.api.core.times import show_time
from onthedot.api.core.views import ErrorView
from onthedot.api.executions.show import last_outcome_view, outcome_words, reason_of, unreadable_view
from onthedot.api.job_lists.views import BulkFailureView, BulkView, JobsView, ListedJobView
from onthedot.api.jobs.show import refused_view
from onthedot.domain.errors import OnthedotError, Unreadable
from onthedot.domain.instants import format_instant
from onthedot.domain.runs.listing import facts_of
from onthedot.domain.runs.records import STAMPING, Record
from onthedot.domain.schedules.schedule import CronSchedule
from onthedot.domain.targets.one_line import one_line
from onthedot.use_cases.jobs.bulk import BulkStep
from onthedot.use_cases.jobs.list_jobs import ListedJob


def jobs_view(jobs: Sequence[ListedJobView], next_cursor: str | None, faulty: Sequence[Unreadable] = ()) -> JobsView:
    """Return a page of jobs."""
    view: JobsView = {"jobs": list(jobs), "next_cursor": next_cursor}
    return {**view, "unreadable": unreadable_view(faulty)} if faulty else view


def listed_job_view(listed: ListedJob, ended: Sequence[Record]) -> ListedJobView:
    """Return a job in a list, with the outcomes of its latest runs that ended, the latest first."""
    job, facts = listed.job, facts_of(listed.job)
    view: ListedJobView = {
        "job_id": job.job_id,
        "name": facts.name,
        "kind": job.kind.value,
        "status": listed.status,
        "reason": reason_of(job),
        "priority": job.priority.value,
        "pool": job.pool,
        "target": None if job.definition is None else one_line(job.definition.target),
        "tags": dict(facts.tags),
        "next_fire_time": show_time(listed.next_at),
        "created_at": format_instant(job.created_at),
        "workflow_id": job.workflow,
        "key": job.key,
        "last_outcome": last_outcome_view(ended),
    }
    if job.kind not in STAMPING:
        return {**view, "at": format_instant(job.nominal_at)}
    return _with_rule(listed, {**view, "outcomes": outcome_words(ended)})


def _with_rule(listed: ListedJob, view: ListedJobView) -> ListedJobView:
    """Add the schedule of a recurring job. An event job has none."""
    if listed.job.recurrence is None:
        return view
    rule = listed.job.recurrence.schedule.rule
    if isinstance(rule, CronSchedule):
        return {**view, "cron": rule.expression, "timezone": rule.timezone}
    return {**view, "every": rule.seconds}


def bulk_view(step: BulkStep, next_cursor: str | None) -> BulkView:
    """Return the outcome of one step of an act on many jobs."""
    failures = [_failure(job_id, error) for job_id, error in step.failures]
    return {
        "matched": step.matched,
        "done": step.done,
        "failed": len(failures),
        "failures": failures,
        "next_cursor": next_cursor,
    }


def _failure(job_id: str, error: OnthedotError) -> BulkFailureView:
    """Return why a call did not act on a job, as a call for this job alone would answer."""
    body: ErrorView = refused_view(error)
    return {"id": job_id, "code": body["error"]["code"], "message": body["error"]["message"]}
