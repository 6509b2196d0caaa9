"""Name runs that have places at a gate, or wait there: the job of each, and its name."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from onthedot.domain.runs.records import Record
from onthedot.ports import Deadline, Engine
from onthedot.use_cases import patience


@dataclass(frozen=True, slots=True)
class NamedRuns:
    """Some runs, and the jobs of runs that a schedule made. A run that cannot be read is not there."""

    runs: dict[str, Record] = field(default_factory=dict)
    jobs: dict[str, Record] = field(default_factory=dict)

    def job_id(self, run_id: str) -> str | None:
        """Return the job of a run."""
        run = self.runs.get(run_id)
        return None if run is None else run.job_id

    def name(self, run_id: str) -> str | None:
        """Return the name of a run's job."""
        run = self.runs.get(run_id)
        job = run if run is None or run.definition is not None else self.jobs.get(run.job_id)
        return None if job is None or job.definition is None else job.definition.name


def read_named(engine: Engine, run_ids: Sequence[str]) -> NamedRuns:
    """Read runs and their jobs, as far as they can be read in time."""
    deadline = Deadline.after(engine.clock.now(), patience.READ_MS)
    ids = list(dict.fromkeys(run_ids))
    if not ids:
        return NamedRuns()
    runs = dict(engine.store.get_many(ids, deadline).found)
    wanted = list({run.job_id for run in runs.values() if run.definition is None})
    return NamedRuns(runs, dict(engine.store.get_many(wanted, deadline).found) if wanted else {})
