"""The filter of a list of runs."""

from dataclasses import dataclass

from onthedot.domain.runs.records import Record
from onthedot.domain.runs.shown_status import shown_run_status


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A filter of runs. A field that is None lets all of them pass."""

    job_id: str | None = None
    status: str | None = None
    """The status as users see it."""

    def passes(self, run: Record) -> bool:
        """Return whether the run is in the list."""
        return self.job_id in (None, run.job_id) and self.status in (None, shown_run_status(run))
