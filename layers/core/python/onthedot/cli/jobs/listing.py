"""`onthedot list`: find jobs by filters, and show how each of them does."""

from collections.abc import Iterator
from itertools import islice
from shlex import quote
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.common.filters import filter_options, read_filters
from onthedot.cli.common.moments import read_moment, this_moment
from onthedot.cli.common.past import PastMoment, PastTime
from onthedot.cli.jobs.listed_rows import COLUMNS, PIPED, row_of
from onthedot.cli.limit_text import is_for_people, json_option, print_next, print_rows
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import requests
from onthedot.client.options import JobFilter
from onthedot.client.requests import list_jobs

MOST_PAGES: Final = 50
"""Pages that one command reads. Each looks at up to 5,000 jobs."""
MOST_LETTERS: Final = 2_000
"""Dead letters that one command looks at."""

_LISTED: Final = (
    *("job_id", "name", "kind", "status", "reason", "priority", "pool", "target", "tags", "next_fire_time"),
    *("created_at", "workflow_id", "key", "last_outcome"),
)
"""The fields of each job in a list of the API."""
_RULES: Final = ("cron", "timezone", "every")
"""Further fields of a recurring job."""


@click.command("list")
@filter_options
@click.option("--since", type=PastTime(), help="Only jobs made or run since then: 12h ago, or a time.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Most that are listed.")
@api_options
@json_option
def list_command(
    *, since: PastMoment | None, limit: int, url: str | None, token: str | None, as_json: bool, **options: Any
) -> None:
    """List jobs, the newest first.

    LAST is the end of the latest run. With --status failed, it also lists recurring jobs whose latest run failed. A
    pipe gets the status and the id too.

    \b
    Examples:
      onthedot list
      onthedot list --kind recurring --name report-
      onthedot list --status failed --since 12h
    """
    filters = read_filters(options)
    found = Found(Documents(url, token), filters, since)
    jobs = list(islice(found.jobs(limit), limit))
    if as_json:
        for job in jobs:
            print_document(job)
        return
    now, for_people = this_moment(), is_for_people()
    rows = [row_of(job, now, for_people=for_people) for job in jobs]
    print_rows(COLUMNS if for_people else PIPED, rows, _none(filters, since))
    _print_end(len(jobs), found, options, since, is_full=len(jobs) == limit)


def _none(filters: JobFilter, since: PastMoment | None) -> str:
    if filters or since is not None:
        return "There is no such job."
    return "There is no job yet. Make one: onthedot schedule --in 10m --http URL"


class Found:
    """The jobs that one command finds."""

    def __init__(self, api: Documents, filters: JobFilter, since: PastMoment | None) -> None:
        self._api = api
        self._filters = filters
        self._first = None if since is None else since.at
        self.has_more = False
        """Whether the command stopped before the end of the list."""

    def jobs(self, limit: int) -> Iterator[dict[str, Any]]:
        """Yield the jobs. `limit` is the most that are needed."""
        if self._filters.get("status") == "FAILED":
            return self._failed()
        return (job for job in self._listed(limit) if self._is_recent(job))

    def _listed(self, limit: int) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            document = self._api.ask(list_jobs(self._filters, cursor, min(limit, requests.PAGE)))
            cursor = document.get("next_cursor")
            self.has_more = cursor is not None
            yield from document["jobs"]
            if cursor is None:
                return

    def _failed(self) -> Iterator[dict[str, Any]]:
        """Yield the jobs whose latest run failed, by the dead letters. A list by status would read every job."""
        seen: set[str] = set()
        letters = self._api.pages(requests.dead_letters, "dead_letters")
        for number, letter in enumerate(letters):
            ended = read_moment(letter.get("finished_at"))
            if self._first is not None and ended is not None and ended < self._first:
                return
            if number == MOST_LETTERS:
                self.has_more = True
                return
            if letter["job_id"] not in seen:
                seen.add(letter["job_id"])
                yield from self._if_it_passes(letter)

    def _if_it_passes(self, letter: dict[str, Any]) -> Iterator[dict[str, Any]]:
        try:
            job = self._api.ask(requests.get(letter["job_id"]))
        except click.ClickException as failure:
            if failure.exit_code != 4:
                raise
            return  # it was deleted meanwhile
        known = _as_listed(job, letter)
        if known["last_outcome"]["status"] == "FAILED" and _passes(known, self._filters):
            yield known

    def _is_recent(self, job: dict[str, Any]) -> bool:
        if self._first is None:
            return True
        last = job.get("last_outcome") or {}
        known = (read_moment(at) for at in (job.get("created_at"), last.get("finished_at")))
        return any(at >= self._first for at in known if at is not None)


def _as_listed(job: dict[str, Any], letter: dict[str, Any]) -> dict[str, Any]:
    """Return a job and its dead letter as the entry that a list of the API has for it."""
    kind = "recurring" if job.get("cron") or job.get("every") else "event" if job.get("on_event") else "one-off"
    known = {
        **job,
        "kind": kind,
        "target": letter.get("target"),
        "last_outcome": job.get("last_outcome") or _outcome_of(letter),
        "at": job.get("fire_time"),
    }
    others = ("at",) if kind == "one-off" else ("outcomes", *(_RULES if kind == "recurring" else ()))
    entry = {name: known.get(name) for name in _LISTED} | {name: known[name] for name in others if name in known}
    return entry if "cron" in entry else {name: value for name, value in entry.items() if name != "timezone"}


def _outcome_of(letter: dict[str, Any]) -> dict[str, Any]:
    reason = letter.get("error") or letter.get("reason")
    known = {name: letter.get(name) for name in ("execution_id", "status", "fire_time", "finished_at")}
    return {**known, "status": letter.get("status", "FAILED"), "reason": reason}


def _passes(job: dict[str, Any], filters: JobFilter) -> bool:
    tags = job.get("tags") or {}
    tag = filters.get("tag")
    return (
        (job.get("name") or "").startswith(filters.get("name", ""))
        and filters.get("kind") in (None, job["kind"])
        and filters.get("priority") in (None, job["priority"])
        and _is_of_workflow(job, filters.get("workflow"))
        and (tag is None or tag in tags or tag in [f"{key}={value}" for key, value in tags.items()])
    )


def _is_of_workflow(job: dict[str, Any], wanted: str | None) -> bool:
    return wanted in (None, job.get("workflow_id")) or (wanted == "*" and job["job_id"] == job.get("workflow_id"))


def _print_end(count: int, found: Found, options: dict[str, Any], since: PastMoment | None, *, is_full: bool) -> None:
    """Print the number of jobs and the next useful command to stderr, dimmed."""
    if not count:
        return
    more = ", and there are more: --limit" if is_full and found.has_more else ""
    more = ", and there may be more: narrow the filters" if found.has_more and not more else more
    command = "onthedot explain NAME"
    if options.get("status") == "FAILED":
        window = "12h" if since is None else quote(printable(since.written))
        command = f"onthedot redrive --since {window} --dry-run"
    click.secho(f"{count:,} {'job' if count == 1 else 'jobs'}{more}.", dim=True, err=True, nl=False)
    print_next(command)
