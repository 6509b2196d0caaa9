"""The executions and calls of a test so far, the assertions about them, and the check that a handler is idempotent."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from onthedot.client import Client, Execution, Job, Status
from onthedot.targets.types import PythonTarget
from onthedot.testing.scheduler import Fault
from onthedot.testing.targets import CapturedTargets, HandlerCall, HttpCall
from onthedot.wiring.virtual import VirtualWorld

_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class History:
    tenant: str
    client: Client
    world: VirtualWorld
    targets: CapturedTargets

    def runs(self, job: Job | str | None = None) -> list[Execution]:
        """Return the executions of a job, the oldest first, or of all jobs. Name a job by id, name or handler."""
        found = [run for job_id in self._job_ids(job) for run in self.client.executions(job_id)]
        return sorted(found, key=lambda run: (run.fire_time or _NEVER, run.id))

    def assert_all(self, status: Status, job: Job | str | None, times: int | None) -> None:
        """Raise AssertionError unless all executions have the status, and there is at least one, or `times`."""
        __tracebackhide__ = True
        runs = self.runs(job)
        wanted = [run for run in runs if run.status == status]
        if len(wanted) == len(runs) and (wanted if times is None else sum(run.count for run in wanted) == times):
            return
        number = "all" if times is None else str(times)
        of = "" if job is None else f" of {job.id if isinstance(job, Job) else job}"
        message = (
            f"expected {number} executions{of} to be {status}, but {len(wanted)} of {len(runs)} are:\n{story(runs)}"
        )
        raise AssertionError(message) from self._error_of(runs)

    def assert_called(self, what: str, times: int) -> None:
        """Raise AssertionError unless a handler, or a URL, was called `times` times."""
        __tracebackhide__ = True
        calls: Sequence[HttpCall | HandlerCall] = self.targets.calls if "://" in what else self.targets.handled
        found = [one for one in calls if (one.url if isinstance(one, HttpCall) else one.handler) == what]
        if len(found) != times:
            listed = calls_in_words(found or calls)
            raise AssertionError(f"{what} was called {len(found)} times, expected {times}. Calls:\n{listed}")

    def _error_of(self, runs: Sequence[Execution]) -> BaseException | None:
        """Return the last error that a handler raised in one of these executions, so that pytest shows where."""
        ids = {run.id for run in runs}
        handled = self.targets.handled
        errors = [one.error for one in handled if one.error is not None and one.context.run_id in ids]
        return errors[-1] if errors else None

    def _job_ids(self, job: Job | str | None) -> list[str]:
        __tracebackhide__ = True
        ids = list(self.world.outlook.job_ids(self.tenant))
        if job is None:
            return ids
        wanted = job.id if isinstance(job, Job) else job
        found = [wanted] if wanted in ids else [job_id for job_id in ids if wanted in self._names_of(job_id)]
        if not found:
            known = sorted({name for job_id in ids for name in self._names_of(job_id)} or {"(none)"})
            raise AssertionError(f"no job {wanted!r}; known names and handlers: {', '.join(known)}")
        return found

    def _names_of(self, job_id: str) -> set[str]:
        record = self.world.engine.store.get(job_id)
        if record is None or record.definition is None:
            return set()
        target = record.definition.target
        handler = target.handler if isinstance(target, PythonTarget) else None
        return {name for name in (record.definition.name, handler) if name is not None}


MOST_LINES = 20


def story(runs: Sequence[Execution]) -> str:
    return _listed(["  ".join(_line(run)) for run in runs]) or "  (no executions)"


def calls_in_words(calls: Sequence[HttpCall | HandlerCall]) -> str:
    return _listed([_call_line(call) for call in calls]) or "  (no calls)"


def _listed(lines: Sequence[str]) -> str:
    more = [f"  … and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return "\n".join([*(f"  {line}" for line in lines[:MOST_LINES]), *more])


def _line(run: Execution) -> Iterator[str]:
    yield from (run.fire_time.isoformat() if run.fire_time else "?", str(run.status), run.job_id)
    if run.count > 1 and run.until is not None:
        yield f"{run.count} fire times until {run.until.isoformat()}"
    if run.attempts:
        ends = (f"attempt {one.number} {one.outcome}{f': {one.error}' if one.error else ''}" for one in run.attempts)
        yield "; ".join(ends)
    if run.reason and not any(run.reason == one.error for one in run.attempts):
        yield run.reason


def _call_line(call: HttpCall | HandlerCall) -> str:
    if isinstance(call, HttpCall):
        return f"{call.at.isoformat()}  {call.method} {call.url}  attempt {call.attempt}"
    raised = f"  raised {call.error!r}" if call.error is not None else ""
    return f"{call.at.isoformat()}  {call.handler}({call.payload!r})  attempt {call.context.attempt}{raised}"


FAULTS: Final = (
    Fault.DELIVERED_TWICE,
    Fault.DIES_BEFORE_START,
    Fault.DIES_BEFORE_CALL,
    Fault.DIES_BEFORE_FINISH,
    Fault.FAILS_AFTER_CALL,
)
"""Everything that may happen to one run in production, and after which it is delivered again."""


class NotIdempotent(AssertionError):
    """A handler had another effect under a fault than without one."""


def check_idempotent(
    name: str, run: Callable[[Fault | None], None], observe: Callable[[], Any], reset: Callable[[], object] | None
) -> None:
    """Call `run` without a fault, then with each, and compare the effects that `observe` shows. Raise NotIdempotent.

    What a number, a list or a tuple has grown by is the effect of one run. Of any other value, the whole value is.
    """
    __tracebackhide__ = True
    expected = _effect(run, None, observe, reset)
    for fault in FAULTS:
        found = _effect(run, fault, observe, reset)
        if found != expected:
            raise NotIdempotent(
                f"{name} is not idempotent when {fault.value}:\n"
                f"  one run without a fault: {expected!r}\n"
                f"  one run with the fault:  {found!r}\n"
                "Every attempt of a run gets the same context.idempotency_key. Store it together with the effect,\n"
                "and skip the effect if the key is already stored."
            )


def _effect(
    run: Callable[[Fault | None], None],
    fault: Fault | None,
    observe: Callable[[], Any],
    reset: Callable[[], object] | None,
) -> Any:
    if reset is not None:
        reset()
    before = copy.deepcopy(observe())
    run(fault)
    return _growth(before, copy.deepcopy(observe()))


def _growth(before: Any, after: Any) -> Any:
    if isinstance(after, int | float) and isinstance(before, int | float):
        return after - before
    if isinstance(after, list | tuple) and isinstance(before, list | tuple) and after[: len(before)] == before:
        return after[len(before) :]
    return after
