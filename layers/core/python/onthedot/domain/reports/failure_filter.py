"""The filter of dead letters."""

from dataclasses import dataclass
from typing import Final

from onthedot.domain.reports.causes import cause_of
from onthedot.domain.runs.dead_letters import ALWAYS, Window
from onthedot.domain.runs.records import Record, Status


@dataclass(frozen=True, slots=True)
class FailureFilter:
    """A filter of dead letters. A field that is None lets all of them pass."""

    window: Window = ALWAYS
    """When the run failed."""
    name: str | None = None
    """The beginning of the name of its job."""
    job_id: str | None = None
    cause: str | None = None
    """The text of `cause_of`."""

    @property
    def looks_at_runs(self) -> bool:
        """Whether it must look at the runs of its window one by one."""
        return (self.name, self.job_id, self.cause) != (None, None, None)

    def passes(self, run: Record, name: str | None) -> bool:
        """Return whether the run, whose job has this name, is among the dead letters that are wanted."""
        return (
            run.status is Status.FAILED
            and self.window.since <= (run.finished_at or 0) < self.window.until
            and (self.name is None or (name or "").startswith(self.name))
            and self.job_id in (None, run.job_id)
            and (self.cause is None or cause_of(run) == self.cause)
        )


EVERY: Final = FailureFilter()
