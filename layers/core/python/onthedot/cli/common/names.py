"""Names of jobs in place of their ids, and the job that a user may have meant."""

from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from onthedot.cli.common.documents import ID_PREFIXES, Documents, Id, missing_job
from onthedot.cli.common.failures import Ambiguous, NotThere
from onthedot.cli.text import printable
from onthedot.client.options import JobFilter
from onthedot.client.requests import APART, is_id, jobs_named, list_jobs

_MOST_SHOWN: Final = 10
_COMPLETED: Final = 50


class JobName(Id):
    """The id of a job, or its name. A shell completes the names."""

    name = "JOB"

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 - as click calls it
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the names that begin with this text. An API that does not answer completes nothing."""
        filters: JobFilter = {"name": incomplete} if incomplete else {}
        try:
            with closing(Documents(ctx.params.get("url"), ctx.params.get("token"), tries=1)) as api:
                found = api.ask(list_jobs(filters, limit=_COMPLETED))["jobs"]
        except click.ClickException:
            return []
        return [CompletionItem(name) for name in dict.fromkeys(one["name"] for one in found) if name]


def job_named(text: str, url: str | None, token: str | None) -> str:
    """Return the id of the job that a user means by its id or its name. Raise click.ClickException.

    A text in the shape of an id is taken for one, without a call.
    """
    return text if is_id(text) else find_job(Documents(url, token), text)


def find_job(api: Documents, text: str) -> str:
    """Return the id of the only job with this name: among recurring and event jobs, else among the newest others.

    Raise Ambiguous when several jobs have it, and NotThere when none has.
    """
    if is_id(text):
        return text
    jobs = _jobs_named(api, text)
    if len(jobs) > 1:
        raise Ambiguous(_several(text, jobs))
    if not jobs:
        raise NotThere(f"{missing_job(text)} at {api.place.url}{did_you_mean(api, text)}")
    return str(jobs[0]["job_id"])


def did_you_mean(api: Documents, text: str) -> str:
    """Return the question whether the user meant a job with a similar id or name, or an empty text.

    It looks at the newest jobs of each kind. A call that fails asks nothing.
    """
    try:
        jobs = [job for kind in (*APART, "one-off") for job in api.ask(list_jobs({"kind": kind}))["jobs"]]
    except click.ClickException:
        return ""
    near = _near(text, jobs)
    return "" if near is None else f". Did you mean {_title(near)}?"


def _jobs_named(api: Documents, name: str) -> Sequence[dict[str, Any]]:
    search, answer = jobs_named(name), None
    try:
        while True:
            answer = api.ask(search.send(answer))
    except StopIteration as found:
        jobs: Sequence[dict[str, Any]] = found.value
        return jobs


def _near(text: str, jobs: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the job whose id begins as this one does after the first word, else the one with the nearest name."""
    from difflib import get_close_matches  # noqa: PLC0415 - for a mistyped name only

    word, underscore, rest = text.lower().partition("_")
    if underscore and rest and (word in ID_PREFIXES or get_close_matches(word, ID_PREFIXES)):
        begins = [job for job in jobs if job["job_id"].partition("_")[2].startswith(rest)]
        if len(begins) == 1:
            return begins[0]
    names = {key: job for job in reversed(jobs) for key in (job["name"], job["job_id"]) if key}
    close = get_close_matches(text, names, n=1, cutoff=0.7)
    return names[close[0]] if close else None


def _title(job: dict[str, Any]) -> str:
    name = job.get("name")
    return f"{job['job_id']} ({printable(name)})" if name else str(job["job_id"])


def _several(text: str, jobs: Sequence[dict[str, Any]]) -> str:
    lines = [f"{job['job_id']}  {job['kind']}, {job['status']}" for job in islice(jobs, _MOST_SHOWN)]
    more = [f"and {len(jobs) - _MOST_SHOWN:,} more"] if len(jobs) > _MOST_SHOWN else []
    return "\n  ".join([f"{len(jobs):,} jobs are called {printable(text)}; give the id of one:", *lines, *more])
