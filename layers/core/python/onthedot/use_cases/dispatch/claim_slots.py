"""Claim the runs of a fire slot and send them: the claim pass of a tick."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.fairness import Quota
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.runs.slots import (
    DECISION_MS,
    REREAD,
    WATCH_DISTANCE,
    SlotKind,
    bucket_of,
    horizon,
    slot_name,
)
from onthedot.ports import Deadline, Engine, Refused, SlotEntry, Tick, Undecided
from onthedot.use_cases.dispatch.find_pool import has_pool, reroute_entries
from onthedot.use_cases.dispatch.queue_states import QueueStates
from onthedot.use_cases.dispatch.read_limits import read_limits
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.dispatch.set_aside import fault_of, faults_of, set_aside
from onthedot.use_cases.dispatch.slot_entries import read_slot_entries, read_slot_pages
from onthedot.use_cases.dispatch.stamp_runs import stamp_jobs
from onthedot.use_cases.outcomes import Outcome, is_written

_LOG: Final = logging.getLogger(__name__)
CLAIMS_PER_ROUND: Final = 500
"""Entries that are read, and shared out fairly among tenants, at a time. Claims go 25 to a call, messages 10."""


@dataclass(slots=True)
class Pass:
    """A tick for one group of shards while it is under way."""

    engine: Engine
    tick: Tick
    now: int
    deadline: Deadline
    claim_token: str
    counts: Counter[str] = field(default_factory=Counter)
    quota: Quota = field(init=False)
    queues: QueueStates = field(init=False)

    def __post_init__(self) -> None:
        self.queues = QueueStates(self.engine.queues)
        self.engine = replace(self.engine, queues=self.queues)
        limits = read_limits(self.engine)
        self.counts["limits_unknown"] += not limits.known
        self.quota = Quota(
            limits=limits,
            share=len(self.tick.shards) / self.engine.deployment.shards,
            now=self.now,
            count_in_flight=lambda: _in_flight(self),
            closed=lambda pool, priority: self.queues.why_closed(pool, priority, self.engine.deployment.backlog_limit),
        )

    def out_of_time(self) -> bool:
        """Return whether the time is over. Runs that are left stay in their slots for the next tick."""
        over = self.is_over()
        self.counts["out_of_time"] += over
        return over

    def is_over(self) -> bool:
        """Return whether the time is over, without counting it."""
        return not self.deadline.allows(self.engine.clock.now())

    def set_aside(self, slot: str, faults: Mapping[str, str]) -> bool:
        """Set these records of a slot aside, each with its fault. Return whether none of them is left in the slot."""
        return set_aside(self.engine, self.counts, slot, faults, self.deadline)


def claim_slot(work: Pass, slot: str, until: int | None = None) -> bool:
    """Claim and send all runs of a fire slot that the quota allows. Return False if any was left in it.

    A recurring job is stamped up to `until`, by default up to the horizon.
    """
    whole = True
    for page in read_slot_pages(work.engine, slot, CLAIMS_PER_ROUND):
        if work.out_of_time():
            return False
        whole = work.set_aside(slot, faults_of(page.unreadable)) and whole
        jobs = [entry.run_id for entry in page.items if entry.kind is Kind.RECURRING]
        runs = [entry for entry in page.items if entry.kind not in (Kind.RECURRING, Kind.GATE)]
        whole = _claim_all(work, slot, runs) and whole
        whole = _stamp(work, slot, jobs, until) and whole
    return whole


def _claim_all(work: Pass, slot: str, entries: Sequence[SlotEntry]) -> bool:
    """Claim and send the runs. A run whose pool is gone gets another pool first, or waits for one."""
    homeless = [entry for entry in entries if not has_pool(work.engine, entry)]
    if not homeless:
        return _claim_and_send(work, entries)
    whole = _claim_and_send(work, [entry for entry in entries if has_pool(work.engine, entry)])
    rerouted = reroute_entries(work.engine, homeless, work.deadline)
    work.counts.update(rerouted=len(rerouted.entries), without_pool=rerouted.waiting)
    whole = work.set_aside(slot, rerouted.faults) and whole
    return _claim_and_send(work, rerouted.entries) and whole and not rerouted.left


def _stamp(work: Pass, slot: str, job_ids: Sequence[str], until: int | None) -> bool:
    if not job_ids:
        return True
    stamped = stamp_jobs(
        work.engine, job_ids, work.claim_token, work.deadline, lambda run: bool(work.quota.choose([run])), until
    )
    work.counts.update(stamped.counts)
    return work.set_aside(slot, stamped.faults) and stamped.whole


def _claim_and_send(work: Pass, entries: Sequence[SlotEntry]) -> bool:
    if not entries:
        return True
    chosen = work.quota.choose(entries)
    work.counts["held_back"] += len(entries) - len(chosen)
    claimed, whole = _claim(work, chosen)
    send(work, claimed)
    return len(chosen) == len(entries) and whole


def _claim(work: Pass, entries: Sequence[SlotEntry]) -> tuple[list[SlotEntry], bool]:
    """Claim the runs. Return the claimed ones, and whether none was left in the slot.

    A record that cannot be read, or that the store refuses to change, is set aside.
    """
    engine = work.engine
    now = engine.clock.now()
    moves = [
        lifecycle.claim(
            entry.run_id, entry.slot, entry.generation, entry.fire_at, now=now, claim_token=work.claim_token
        )
        for entry in entries
    ]
    outcomes = engine.store.move_many(moves, work.deadline.at_most(now + DECISION_MS)) if moves else []
    claimed = [
        entry
        for entry, outcome in zip(entries, outcomes, strict=True)
        if is_written(outcome, lambda current: current.claim_token == work.claim_token)
    ]
    answers = zip(entries, moves, outcomes, strict=True)
    faults = {e.run_id: why for e, m, o in answers if (why := fault_of(o, m) or _misplaced(e, o)) is not None}
    undecided = sum(isinstance(outcome, Undecided) and not outcome.permanent for outcome in outcomes)
    lost_race = len(entries) - len(claimed) - undecided - len(faults)
    work.counts.update(claimed=len(claimed), throttled=undecided, lost_race=lost_race)
    return claimed, (not faults or work.set_aside(entries[0].slot, faults)) and not undecided


def _misplaced(entry: SlotEntry, outcome: Outcome) -> str | None:
    """Say why a record that is still in this fire slot could not be claimed. None: it has left the slot."""
    current = outcome.current if isinstance(outcome, Refused) else None
    if current is None or current.slot != entry.slot or current.status is Status.PENDING:
        return None
    return f"it is {current.status} in a fire slot"


def send(work: Pass, runs: Sequence[SlotEntry | Record]) -> None:
    """Send the runs, and count the sent and the unsent ones."""
    unsent = send_runs(work.engine, runs, work.deadline) if runs else 0
    work.counts.update(sent=len(runs) - unsent, unsent=unsent)


def _in_flight(work: Pass) -> Iterator[SlotEntry]:
    """Yield the runs that were sent and have not ended. They are read from the watch slots, so no counter can drift.

    The runs of a slot that cannot be read are not counted: a limit of one tenant must not stop the others.
    """
    first = bucket_of(work.now) - REREAD
    last = bucket_of(horizon(work.now, work.engine.deployment.lookahead)) + WATCH_DISTANCE
    for slot in (slot_name(SlotKind.WATCH, s, b) for b in range(first, last + 1) for s in work.tick.shards):
        try:
            for entries in read_slot_entries(work.engine, slot, CLAIMS_PER_ROUND):
                yield from entries
        except Unavailable as error:
            work.counts["in_flight_unknown"] += 1
            _LOG.warning("in_flight_unknown", extra={"slot": slot, "error": str(error)})
