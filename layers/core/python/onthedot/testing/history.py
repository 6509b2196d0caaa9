"""The executions and calls of a test so far, and the assertions about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from onthedot.client import Client, Execution, Job, Status
from onthedot.domain.targets.types import PythonTarget
from onthedot.ports import Engine
from onthedot.testing.outcomes import calls_in_words, story
from onthedot.testing.targets import CapturedTargets, HandlerCall, HttpCall

_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class JobList(Protocol):
    """The jobs that are stored."""

    def job_ids(self, tenant: str) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class History:
    """The executions and calls of one tenant so far."""

    tenant: str
    client: Client
    engine: Engine
    jobs: JobList
    targets: CapturedTargets

    def runs(self, job: Job | str | None = None) -> list[Execution]:
        """Return the executions of a job, the oldest first, or of all jobs. Name a job by id, name or handler."""
        found = [run for job_id in self._job_ids(job) for run in self.client.executions(job_id)]
        return sorted(found, key=lambda run: (run.fire_time or _NEVER, run.id))

    def assert_all(self, status: Status, job: Job | str | None, times: int | None) -> None:
        """Raise AssertionError unless all executions have the status, and there is one at least, or so many."""
        __tracebackhide__ = True
        runs = self.runs(job)
        wanted = [run for run in runs if run.status == status]
        if len(wanted) == len(runs) and (wanted if times is None else sum(run.count for run in wanted) == times):
            return
        number = "all" if times is None else str(times)
        of = "" if job is None else f" of {job.id if isinstance(job, Job) else job}"
        message = f"{number} executions{of} should be {status}, and {len(wanted)} of {len(runs)} are:\n{story(runs)}"
        raise AssertionError(message) from self._error_of(runs)

    def assert_called(self, what: str, times: int) -> None:
        """Raise AssertionError unless a handler, or a URL, was called so many times."""
        __tracebackhide__ = True
        calls: Sequence[HttpCall | HandlerCall] = self.targets.calls if "://" in what else self.targets.handled
        found = [one for one in calls if (one.url if isinstance(one, HttpCall) else one.handler) == what]
        if len(found) != times:
            listed = calls_in_words(found or calls)
            raise AssertionError(f"{what} was called {len(found)} times, and not {times} times. Calls:\n{listed}")

    def _error_of(self, runs: Sequence[Execution]) -> BaseException | None:
        """Return the last error that a handler raised in one of these executions, so that pytest shows where."""
        ids = {run.id for run in runs}
        handled = self.targets.handled
        errors = [one.error for one in handled if one.error is not None and one.context.run_id in ids]
        return errors[-1] if errors else None

    def _job_ids(self, job: Job | str | None) -> list[str]:
        __tracebackhide__ = True
        ids = list(self.jobs.job_ids(self.tenant))
        if job is None:
            return ids
        wanted = job.id if isinstance(job, Job) else job
        found = [wanted] if wanted in ids else [job_id for job_id in ids if wanted in self._names_of(job_id)]
        if not found:
            known = sorted({name for job_id in ids for name in self._names_of(job_id)} or {"(none)"})
            raise AssertionError(f"there is no job {wanted!r}; the names and handlers of jobs are: {', '.join(known)}")
        return found

    def _names_of(self, job_id: str) -> set[str]:
        record = self.engine.store.get(job_id)
        if record is None or record.definition is None:
            return set()
        target = record.definition.target
        handler = target.handler if isinstance(target, PythonTarget) else None
        return {name for name in (record.definition.name, handler) if name is not None}
