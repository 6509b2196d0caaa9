"""Show dead letters and the outcome of a redrive."""

from collections.abc import Sequence

from onthedot.api.dead_letters.views import DeadLettersView, RedrivenView
from onthedot.api.executions.show import execution_view, unreadable_view
from onthedot.domain.errors import Unreadable
from onthedot.domain.runs.records import Record
from onthedot.use_cases.attempts.results import ShownResult
from onthedot.use_cases.jobs.redrive import Redriven


def dead_letters_view(
    runs: Sequence[tuple[Record, ShownResult]], next_cursor: str | None, faulty: Sequence[Unreadable] = ()
) -> DeadLettersView:
    """Return a page of dead letters."""
    view: DeadLettersView = {
        "dead_letters": [execution_view(run, result) for run, result in runs],
        "next_cursor": next_cursor,
    }
    return {**view, "unreadable": unreadable_view(faulty)} if faulty else view


def redriven_view(done: Redriven) -> RedrivenView:
    return {
        "redriven": len(done.runs),
        "refused": [{"id": run_id, "reason": reason} for run_id, reason in done.refused],
        "undecided": [{"id": run_id, "reason": reason} for run_id, reason in done.undecided],
        "left": done.left,
    }
