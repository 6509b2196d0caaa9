"""Say that the latest runs of a job failed one after the other: how many, since when, and why."""

from collections.abc import Sequence
from itertools import dropwhile, takewhile

from onthedot.domain.instants import format_instant
from onthedot.domain.reports.causes import cause_of
from onthedot.domain.reports.explain import Reason
from onthedot.domain.runs.records import TERMINAL, Record, Status


def runs_fail(latest: Sequence[Record], *, more: bool) -> Reason | None:
    """Return the reason if at least two runs in a row failed and none has ended since. None: there is no such row.

    `latest` has the latest due runs of a job, the latest first. `more`: there may be older ones.
    """
    ended = list(dropwhile(lambda run: run.status not in TERMINAL, latest))
    failed = list(takewhile(lambda run: run.status is Status.FAILED, ended))
    if len(failed) < 2:
        return None
    is_cut = more and len(failed) == len(ended)
    first = failed[-1].finished_at or failed[-1].nominal_at
    number = f"{'at least ' if is_cut else ''}its last {len(failed)} runs failed"
    since = f"since {format_instant(first)}{' or before' if is_cut else ''}"
    causes = [cause_of(run) for run in failed]
    why = causes[0] if len(set(causes)) == 1 else f"the last: {causes[0]}"
    return Reason("runs_fail", f"{number}, {since}: {why}")
