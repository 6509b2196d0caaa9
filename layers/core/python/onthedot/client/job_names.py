"""Find a job by its name, for both clients and for commands. It is pure: the caller makes the calls."""

import re
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from onthedot.client.errors import AmbiguousName, NotFound
from onthedot.client.requests import Operation
from onthedot.client.stage_calls import list_jobs

_SHAPE: Final = re.compile(r"job_[a-z0-9]+(?:\..+)?", re.ASCII)
APART: Final = ("recurring", "event")
"""The kinds of jobs that are found among millions of one-off jobs."""
_MOST_PAGES: Final = 20
"""Pages of each kind that are read for one name. A page looks at up to 5,000 jobs."""
_MOST_SHOWN: Final = 3

Entries: TypeAlias = list[dict[str, Any]]
Search: TypeAlias = Generator[Operation[Any], Any, Entries]
"""Yields calls, is sent the document that answers each, and returns the entries of jobs that it has found."""


def is_id(text: str) -> bool:
    """Return whether the text has the shape of an id. Then it is taken for one, without a call."""
    return _SHAPE.fullmatch(text) is not None


def jobs_named(name: str) -> Search:
    """Search the jobs with this name: the recurring and event jobs, else the newest others."""
    found: Entries = []
    for kind in APART:
        found += yield from _with_name(name, kind, _MOST_PAGES)
    return found or (yield from _with_name(name, "one-off", 1))


def _with_name(name: str, kind: str, pages: int) -> Search:
    found: Entries = []
    cursor: str | None = None
    for _ in range(pages):
        document = yield replace(list_jobs({"kind": kind, "full_name": name}, cursor), read=lambda answer: answer)
        found += document["jobs"]
        cursor = document.get("next_cursor")
        if cursor is None:
            break
    return found


def only_id(name: str, jobs: Sequence[dict[str, Any]]) -> str:
    """Return the id of the only job that was found. Raise NotFound or AmbiguousName."""
    if not jobs:
        raise NotFound(f"there is no job {name!r}", code="not_found")
    if len(jobs) > 1:
        ids = ", ".join(str(job["job_id"]) for job in jobs[:_MOST_SHOWN])
        raise AmbiguousName(f"{len(jobs):,} jobs are called {name!r}; give the id of one: {ids}")
    return str(jobs[0]["job_id"])
