"""A forecast while it is made: the facts that its steps share, and how much it has read."""

from dataclasses import dataclass, field
from typing import Final

from onthedot.domain.runs.records import Record
from onthedot.domain.runs.slots import BUCKET_MS
from onthedot.ports import Deadline, Engine
from onthedot.use_cases.forecast.tally import Tally

MOST_IN_ALL: Final = 200_000
"""Entries counted of all slots."""


@dataclass(slots=True)
class Survey:
    """A forecast while its slots and schedules are read. Only the thread that counts changes it."""

    engine: Engine
    tenant: str
    now: int
    until: int
    deadline: Deadline
    shards: int
    tally: Tally
    names: dict[str, str | None] = field(default_factory=dict)
    entries: int = 0
    """Entries of the slots that were counted so far, of all tenants."""
    truncated: bool = False
    complete_until: int | None = None

    @property
    def has_time(self) -> bool:
        """Whether the call may go on reading."""
        return self.deadline.allows(self.engine.clock.now())

    @property
    def has_room(self) -> bool:
        """Whether the entries of another slot may be counted."""
        return self.entries < MOST_IN_ALL

    def note(self, *, complete: bool) -> None:
        """Note whether something was read to its end."""
        self.truncated = self.truncated or not complete

    def note_slot(self, bucket: int) -> None:
        """Note that the slot of this bucket was not read to its end."""
        self.note(complete=False)
        start = bucket * BUCKET_MS
        self.complete_until = start if self.complete_until is None else min(self.complete_until, start)

    def name_jobs(self, jobs: dict[str, Record]) -> None:
        """Remember the names of these jobs."""
        self.names |= {job_id: None if job.definition is None else job.definition.name for job_id, job in jobs.items()}
