"""Claim the runs of a fire slot and send them: the claim pass of a tick."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.fairness import Quota
from onthedot.domain.runs.records import Kind, Record
from onthedot.domain.runs.slots import (
    DECISION_MS,
    REREAD,
    WATCH_DISTANCE,
    SlotKind,
    bucket_of,
    horizon,
    slot_name,
)
from onthedot.ports import Deadline, Engine, SlotEntry, Tick, Undecided
from onthedot.use_cases.dispatch.queue_states import QueueStates
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.dispatch.slot_entries import read_slot_entries
from onthedot.use_cases.dispatch.stamp_runs import stamp_jobs
from onthedot.use_cases.outcomes import is_written

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
        self.quota = Quota(
            limits=self.engine.limits.read(),
            share=len(self.tick.shards) / self.engine.deployment.shards,
            now=self.now,
            count_in_flight=lambda: _in_flight(self),
            backlog=lambda pool, priority: self.queues.why_closed(pool, priority, self.engine.deployment.backlog_limit),
        )

    def out_of_time(self) -> bool:
        """Return whether the time is over. Runs that are left stay in their slots for the next tick."""
        over = not self.deadline.allows(self.engine.clock.now())
        self.counts["out_of_time"] += over
        return over


def claim_slot(work: Pass, slot: str) -> bool:
    """Claim and send all runs of a fire slot that the quota allows. Return False if any was left in it."""
    whole = True
    for entries in read_slot_entries(work.engine, slot, CLAIMS_PER_ROUND):
        if work.out_of_time():
            return False
        jobs = [entry.run_id for entry in entries if entry.kind is Kind.RECURRING]
        runs = [entry for entry in entries if entry.kind is not Kind.RECURRING]
        whole = _claim_and_send(work, runs) and whole
        whole = _stamp(work, jobs) and whole
    return whole


def _stamp(work: Pass, job_ids: Sequence[str]) -> bool:
    if not job_ids:
        return True
    stamped = stamp_jobs(
        work.engine, job_ids, work.claim_token, work.deadline, allows=lambda run: bool(work.quota.choose([run]))
    )
    work.counts.update(stamped.counts)
    return stamped.whole


def _claim_and_send(work: Pass, entries: Sequence[SlotEntry]) -> bool:
    if not entries:
        return True
    chosen = work.quota.choose(entries)
    work.counts["held_back"] += len(entries) - len(chosen)
    claimed, undecided = _claim(work, chosen)
    send(work, claimed)
    return len(chosen) == len(entries) and not undecided


def _claim(work: Pass, entries: Sequence[SlotEntry]) -> tuple[list[SlotEntry], int]:
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
    undecided = sum(isinstance(outcome, Undecided) for outcome in outcomes)
    work.counts.update(claimed=len(claimed), throttled=undecided, lost_race=len(entries) - len(claimed) - undecided)
    return claimed, undecided


def send(work: Pass, runs: Sequence[SlotEntry | Record]) -> None:
    """Send the runs, and count the sent and the unsent ones."""
    unsent = send_runs(work.engine, runs, work.deadline) if runs else 0
    work.counts.update(sent=len(runs) - unsent, unsent=unsent)


def _in_flight(work: Pass) -> Iterator[SlotEntry]:
    """Yield the runs that were sent and have not ended. They are read from the watch slots, so no counter can drift."""
    first = bucket_of(work.now) - REREAD
    last = bucket_of(horizon(work.now, work.engine.deployment.lookahead)) + WATCH_DISTANCE
    for slot in (slot_name(SlotKind.WATCH, s, b) for b in range(first, last + 1) for s in work.tick.shards):
        for entries in read_slot_entries(work.engine, slot, CLAIMS_PER_ROUND):
            yield from entries
