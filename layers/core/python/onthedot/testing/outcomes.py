"""Executions in words, for the messages of assertions that fail."""

from collections.abc import Iterable, Sequence

from onthedot.client.answers import Execution
from onthedot.testing.targets import HandlerCall, HttpCall

MOST_LINES = 20


def story(runs: Sequence[Execution]) -> str:
    """Return one line for each execution: its time, its status, and how its attempts ended."""
    return _listed([_line(run) for run in runs]) or "  (no executions)"


def calls_in_words(calls: Sequence[HttpCall | HandlerCall]) -> str:
    """Return one line for each call."""
    return _listed([_call_line(call) for call in calls]) or "  (no calls)"


def _listed(lines: Sequence[str]) -> str:
    more = [f"  … and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return "\n".join([*(f"  {line}" for line in lines[:MOST_LINES]), *more])


def _line(run: Execution) -> str:
    at = run.fire_time.isoformat() if run.fire_time else "?"
    return "  ".join([at, str(run.status), run.job_id, *_details(run)])


def _details(run: Execution) -> Iterable[str]:
    if run.count > 1 and run.until is not None:
        yield f"{run.count} fire times until {run.until.isoformat()}"
    if run.attempts:
        yield "; ".join(f"attempt {one.number} {one.outcome}" + _because(one.error) for one in run.attempts)
    if run.reason and not any(run.reason == one.error for one in run.attempts):
        yield run.reason


def _because(error: str | None) -> str:
    return f": {error}" if error else ""


def _call_line(call: HttpCall | HandlerCall) -> str:
    if isinstance(call, HttpCall):
        return f"{call.at.isoformat()}  {call.method} {call.url}  attempt {call.attempt}"
    raised = f"  raised {call.error!r}" if call.error is not None else ""
    return f"{call.at.isoformat()}  {call.handler}({call.payload!r})  attempt {call.context.attempt}{raised}"
