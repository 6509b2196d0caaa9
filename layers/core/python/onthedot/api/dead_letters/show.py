"""Show dead letters, their causes and the outcome of a redrive."""

from collections.abc import Mapping, Sequence
from typing import Final

from onthedot.api.core.times import show_time
from onthedot.api.dead_letters.views import CausesView, CauseView, DeadLettersView, RedrivenView, RedriveRunView
from onthedot.api.executions.show import error_of, execution_view, unreadable_view
from onthedot.domain.errors import Unreadable
from onthedot.domain.instants import format_instant
from onthedot.domain.reports.causes import cause_of
from onthedot.domain.runs.records import Record
from onthedot.use_cases.jobs.redrive import Redriven
from onthedot.use_cases.runs.count_causes import Cause, Causes
from onthedot.use_cases.runs.jobs_of_runs import name_of
from onthedot.use_cases.runs.shown_runs import ShownRun

MOST_SHOWN: Final = 20
"""Runs that the answer to a dry run shows."""


def dead_letters_view(
    runs: Sequence[ShownRun], now: int, next_cursor: str | None, faulty: Sequence[Unreadable] = ()
) -> DeadLettersView:
    """Return a page of dead letters."""
    view: DeadLettersView = {
        "dead_letters": [execution_view(shown.run, shown.result, now, shown.definition) for shown in runs],
        "next_cursor": next_cursor,
    }
    return {**view, "unreadable": unreadable_view(faulty)} if faulty else view


def causes_view(causes: Causes) -> CausesView:
    """Return the causes of dead letters."""
    return {
        "from": format_instant(causes.since),
        "to": format_instant(causes.until),
        "causes": [_cause_view(cause, causes) for cause in causes.causes],
        "truncated": causes.truncated,
    }


def _cause_view(cause: Cause, causes: Causes) -> CauseView:
    return {
        "cause": cause.text,
        "count": cause.count,
        "latest": show_time(cause.latest.finished_at),
        "oldest": format_instant(cause.oldest_at),
        "successes_since": cause.successes_since,
        "job_id": cause.latest.job_id,
        "name": cause.name,
        "jobs": len(cause.job_ids),
        "execution_id": cause.latest.run_id,
        "over_time": cause.over_time(causes.since, causes.until),
    }


def redriven_view(done: Redriven, next_cursor: str | None) -> RedrivenView:
    """Return the outcome of a redrive."""
    return {
        "redriven": 0 if done.dry else len(done.runs),
        "refused": [{"id": run_id, "reason": reason} for run_id, reason in done.refused],
        "undecided": [{"id": run_id, "reason": reason} for run_id, reason in done.undecided],
        "left": done.left,
        "next_cursor": next_cursor,
    }


def dry_run_view(done: Redriven, next_cursor: str | None, jobs: Mapping[str, Record]) -> RedrivenView:
    """Return what a redrive would run."""
    shown = [_run_view(run, jobs.get(run.job_id)) for run in done.runs[:MOST_SHOWN]]
    return {**redriven_view(done, next_cursor), "matched": len(done.runs), "runs": shown}


def _run_view(run: Record, job: Record | None) -> RedriveRunView:
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "name": name_of(job),
        "fire_time": format_instant(run.nominal_at),
        "error": error_of(run),
        "cause": cause_of(run),
    }
