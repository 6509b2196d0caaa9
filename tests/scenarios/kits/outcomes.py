"""Every expected time has exactly one outcome."""

from collections.abc import Iterable

from onthedot.core.ids import is_scheduled
from onthedot.core.records import TERMINAL, Kind, Record, Status
from tests.scenarios.kits.recurring import runs_of
from tests.scenarios.kits.simulation import Simulation


def problems(simulation: Simulation, job: Record, times: Iterable[int]) -> list[str]:
    """Say which of these times have no outcome, no ended one, or more than one.

    A range covers times without a run, or whose run was skipped. No two ranges cover one time.
    """
    records = runs_of(simulation, job)
    runs = {record.nominal_at: record for record in records if is_scheduled(record.run_id)}
    ranges = [record for record in records if record.kind is Kind.SKIPPED_RANGE]
    found = [f"{r.run_id} {r.nominal_at} {r.status}: no reason" for r in records if _lacks_reason(r)]
    for at in times:
        covering = [r for r in ranges if r.nominal_at <= at <= (r.skipped_until or r.nominal_at)]
        if at in runs and runs[at].status not in TERMINAL:
            found.append(f"{at}: {runs[at].status} has not ended")
        elif at in runs and covering and runs[at].status is not Status.SKIPPED:
            found.append(
                f"{at}: {runs[at].status}, and skipped in {[(r.nominal_at, r.skipped_until) for r in covering]}"
            )
        elif at not in runs and len(covering) != 1:
            found.append(f"{at}: {len(covering)} outcomes {[(r.nominal_at, r.skipped_until) for r in covering]}")
    return found


def check_counts(simulation: Simulation, job: Record, times: Iterable[int]) -> None:
    """Check that the runs and the counts of the ranges add up to the number of times: none is counted twice."""
    wanted = list(times)
    records = runs_of(simulation, job)
    runs = sum(is_scheduled(r.run_id) and r.nominal_at in wanted for r in records)
    skipped = sum(r.skipped_count or 0 for r in records if r.kind is Kind.SKIPPED_RANGE)
    assert runs + skipped == len(wanted)


def _lacks_reason(record: Record) -> bool:
    return record.status is Status.SKIPPED and not record.reason
