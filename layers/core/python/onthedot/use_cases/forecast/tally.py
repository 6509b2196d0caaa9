"""Count runs by minute, and keep the jobs that have the most of them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Final

from onthedot.domain.runs.slots import BUCKET_MS, bucket_of

SHOWN: Final = 3
"""Jobs that are named for each minute."""
NEAREST: Final = 5
"""Runs that a forecast names: the first ones."""
_MOST_KEPT: Final = 1_000


@dataclass(slots=True)
class Tally:
    """The runs of each minute before `until`. Runs that are overdue count to the minute of `now`."""

    now: int
    until: int
    counts: Counter[int] = field(default_factory=Counter)
    _waiting: defaultdict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _expected: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    """The jobs with the most expected runs of each minute, the largest first."""

    _nearest: list[tuple[int, str]] = field(default_factory=list)

    def add(self, at: int, job_id: str) -> None:
        """Count a run that exists."""
        if at < self.until:
            minute = bucket_of(max(at, self.now)) * BUCKET_MS
            self.counts[minute] += 1
            self._waiting[minute][job_id] += 1
            self.add_nearest([at], job_id)

    def add_expected(self, job_ids: Sequence[str], minutes: Mapping[int, int]) -> None:
        """Count the coming runs of jobs that fire alike: of each job so many in each minute."""
        named = job_ids[:SHOWN]
        for minute, runs in minutes.items():
            self.counts[minute] += runs * len(job_ids)
            top = self._expected.setdefault(minute, [])
            if len(top) < SHOWN or runs > top[-1][0]:
                top.extend((runs, job_id) for job_id in named)
                top.sort(key=lambda one: -one[0])
                del top[SHOWN:]

    def add_nearest(self, times: Sequence[int], job_id: str) -> None:
        """Remember times of a job, in case they are among the first ones."""
        self._nearest += [(max(at, self.now), job_id) for at in times if at < self.until]
        if len(self._nearest) > _MOST_KEPT:
            self._nearest = self.nearest()

    def nearest(self) -> list[tuple[int, str]]:
        """Return the times and job ids of the runs that come first."""
        return nsmallest(NEAREST, self._nearest)

    def heaviest(self, minute: int) -> list[tuple[str, int]]:
        """Return the jobs with the most runs in a minute, and how many, the largest first."""
        waiting = self._waiting.get(minute, Counter())
        totals = Counter(dict(waiting.most_common(SHOWN)))
        for runs, job_id in self._expected.get(minute, ()):
            totals[job_id] = runs + waiting.get(job_id, 0)
        return totals.most_common(SHOWN)
