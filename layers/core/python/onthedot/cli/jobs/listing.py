"""`onthedot list`: find jobs by filters, and show how each is doing."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import click

from onthedot.cli.documents import Documents
from onthedot.cli.options import filter_options, limit_option, on_api, read_filters
from onthedot.cli.output import Cells, counted, print_list, print_next, word
from onthedot.cli.times import Past, PastTime, read_moment, schedule_in_words
from onthedot.client import requests
from onthedot.client.options import JobFilter
from onthedot.client.requests import list_jobs

COLUMNS: Final = ("NAME", "SCHEDULE", "LAST", "NEXT", "WHY", "STATUS", "JOB")
MAX_PAGES: Final = 50
"""Pages that one command reads. Each looks at up to 5,000 jobs."""
MAX_LETTERS: Final = 2_000
"""Dead letters that one command looks at."""
_COUNTED: Final = re.compile(r"(\d+) of \d+ attempts? failed: (.*)", re.DOTALL)
_CONNECTING: Final = re.compile(r"failed while connecting to (\S+?)(?: port (\d+))?: (connection \w+)", re.IGNORECASE)
_LISTED: Final = (
    *("job_id", "name", "kind", "status", "reason", "priority", "pool", "target", "tags", "next_fire_time"),
    *("created_at", "workflow_id", "key", "last_outcome"),
)
"""The fields of each job in a list of the API."""


@click.command("list")
@filter_options
@click.option("--since", type=Past(), help="Only jobs created or run since then: 12h for 12 hours ago, or a time.")
@limit_option
@on_api
def list_command(*, since: PastTime | None, limit: int, api: Documents, as_json: bool, **given: Any) -> None:
    """List jobs, the newest first.

    LAST says how and when the latest run ended. With --status failed, recurring jobs whose latest run failed are listed
    too. Piped output includes the status and the id.

    \b
    Examples:
      onthedot list
      onthedot list --kind recurring --name report-
      onthedot list --status failed --since 12h
    """
    filters = read_filters(given)
    search, cells = Search(api, filters, since), Cells()
    none = "There are no such jobs."
    if not filters and since is None:
        none = "There are no jobs yet. Create one: onthedot schedule --in 10m --http URL"
    found = islice(search.jobs(limit), limit)
    jobs = print_list(found, COLUMNS, lambda job: row_of(job, cells), none, as_json=as_json, hidden={"STATUS", "JOB"})
    if as_json or not jobs:
        return
    more = ""
    if search.has_more:
        more = ", and there are more: --limit" if len(jobs) == limit else ", and there may be more: narrow the filters"
    click.secho(f"{counted(len(jobs), 'job')}{more}.", dim=True, err=True, nl=False)
    window = "12h" if since is None else word(since.written)
    is_failed = filters.get("status") == "FAILED"
    print_next(f"onthedot redrive --since {window} --dry-run" if is_failed else "onthedot explain NAME")


class Search:
    def __init__(self, api: Documents, filters: JobFilter, since: PastTime | None) -> None:
        self._api = api
        self._filters = filters
        self._first = None if since is None else since.at
        self.has_more = False
        """Whether the command stopped before the end of the list."""

    def jobs(self, limit: int) -> Iterator[dict[str, Any]]:
        if self._filters.get("status") == "FAILED":
            return self._failed()
        return (job for job in self._listed(limit) if self._is_recent(job))

    def _listed(self, limit: int) -> Iterator[dict[str, Any]]:
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            document = self._api.ask(list_jobs(self._filters, cursor, min(limit, requests.PAGE)))
            cursor = document.get("next_cursor")
            self.has_more = cursor is not None
            yield from document["jobs"]
            if cursor is None:
                return

    def _failed(self) -> Iterator[dict[str, Any]]:
        """Yield the jobs whose latest run failed, by the dead letters. A list by status would read every job."""
        seen: set[str] = set()
        for number, letter in enumerate(self._api.pages(requests.dead_letters, "dead_letters")):
            ended = read_moment(letter.get("finished_at"))
            if self._first is not None and ended is not None and ended < self._first:
                return
            if number == MAX_LETTERS:
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
        if (known["last_outcome"] or {}).get("status") == "FAILED" and _passes(known, self._filters):
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
        "at": job.get("fire_time"),
    }
    rules = ("cron", "timezone", "every") if "cron" in known else ("every",)
    others = {"one-off": ("at",), "event": ("outcomes",), "recurring": ("outcomes", *rules)}[kind]
    return {name: known.get(name) for name in _LISTED} | {name: known[name] for name in others if name in known}


def _passes(job: dict[str, Any], filters: JobFilter) -> bool:
    tags, tag, workflow = job.get("tags") or {}, filters.get("tag"), filters.get("workflow")
    is_of_workflow = workflow in (None, job.get("workflow_id"))
    return (
        (job.get("name") or "").startswith(filters.get("name", ""))
        and filters.get("kind") in (None, job["kind"])
        and filters.get("priority") in (None, job["priority"])
        and (is_of_workflow or (workflow == "*" and job["job_id"] == job.get("workflow_id")))
        and (tag is None or tag in tags or tag in [f"{key}={value}" for key, value in tags.items()])
    )


def row_of(job: dict[str, Any], cells: Cells) -> tuple[str, ...]:
    last = job.get("last_outcome") or {}
    why = _why(job, last)
    return (
        str(job.get("name") or job["job_id"]),
        schedule_in_words(job, cells.now),
        _last(job, last, cells),
        "paused" if job["status"] == "PAUSED" else cells.time(job.get("next_fire_time")),
        in_short(why) if cells.for_people else why,
        str(job["status"]),
        str(job["job_id"]),
    )


def in_short(reason: str) -> str:
    """Return a reason with its cause first, because a column may cut its end."""
    return _CONNECTING.sub(lambda found: f"{found[3].lower()}: {found[1]}{f':{found[2]}' if found[2] else ''}", reason)


def _last(job: dict[str, Any], last: dict[str, Any], cells: Cells) -> str:
    if last:
        return f"{str(last['status']).lower()} {cells.time(last.get('finished_at')).removeprefix('today ')}"
    if outcomes := job.get("outcomes"):
        return str(outcomes[0]).lower()
    return str(job["status"]).lower() if job.get("kind") == "one-off" else "-"


def _why(job: dict[str, Any], last: dict[str, Any]) -> str:
    """Return why the latest run did not succeed, or why the job does not run. The cause stands before the attempts."""
    is_well = last.get("status") == "SUCCEEDED"
    reason = str((None if is_well else last.get("reason")) or job.get("reason") or "-")
    if (counted := _COUNTED.fullmatch(reason)) is None:
        return reason
    return counted[2] if counted[1] == "1" else f"{counted[2]} after {counted[1]} attempts"
