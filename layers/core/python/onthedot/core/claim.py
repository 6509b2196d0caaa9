"""Claim the runs of a fire slot and send them: the claim pass of a tick."""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.engine import Core, TickPoints
from onthedot.core.find_pool import has_pool, reroute_entries
from onthedot.core.moves import Move
from onthedot.core.outcomes import is_written
from onthedot.core.ports import Deadline, SlotEntry, Tick, Undecided
from onthedot.core.records import Kind, Record
from onthedot.core.send import QueueStates, read_slot_pages, send_runs
from onthedot.core.set_aside import fault_of, faults_of, misplaced, set_aside
from onthedot.core.slots import DECISION_MS, bucket_of, slot_bucket
from onthedot.core.stamp import stamp_jobs

_LOG: Final = logging.getLogger(__name__)
CLAIMS_PER_ROUND: Final = 500
"""Entries that are read, and shared out fairly among tenants, at a time. Claims go 25 to a call, messages 10."""


@dataclass(slots=True)
class Pass:
    """A tick for one group of shards while it is under way."""

    engine: Core
    tick: Tick
    now: int
    deadline: Deadline
    claim_token: str
    counts: Counter[str] = field(default_factory=Counter)
    gates_left: set[int] = field(default_factory=set)
    """The shards in which gates were left because the time for looks was over."""
    look_until: Deadline = field(init=False)
    queues: QueueStates = field(init=False)
    points: TickPoints = field(init=False)

    def __post_init__(self) -> None:
        self.queues = QueueStates(self.engine.queues, self.engine.deployment.backlog_limit)
        self.engine = replace(self.engine, queues=self.queues)
        self.look_until = self.deadline
        self.points = self.engine.points.of_tick(self.engine, self.queues, self.counts)

    def is_open(self, run: Record) -> bool:
        return not self.queues.is_closed(run.pool, run.priority)

    def out_of_time(self) -> bool:
        """Return whether time has run out, and count it. Runs that are left stay in their slots for the next tick."""
        over = self.is_over()
        self.counts["out_of_time"] += over
        return over

    def is_over(self) -> bool:
        return not self.deadline.allows(self.engine.clock.now())

    def set_aside(self, slot: str, faults: Mapping[str, str]) -> bool:
        return set_aside(self.engine, self.counts, slot, faults, self.deadline)


def claim_slot(work: Pass, slot: str, until: int | None = None) -> bool:
    """Claim and send all runs of a fire slot. Return False if any was left in it.

    A run whose queue is closed goes on the waiting list of the queue, when its minute has passed. A recurring job is
    stamped up to `until`, by default up to the horizon.
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
    stamped = stamp_jobs(work.engine, job_ids, work.claim_token, work.deadline, work.is_open, until)
    work.counts.update(stamped.counts)
    return work.set_aside(slot, stamped.faults) and not stamped.left


def _claim_and_send(work: Pass, entries: Sequence[SlotEntry]) -> bool:
    is_open = {queue: not work.queues.is_closed(*queue) for queue in {_queue_of(entry) for entry in entries}}
    whole = _wait_for_queues(work, [entry for entry in entries if not is_open[_queue_of(entry)]])
    claimed, claimed_all = _claim(work, work.points.in_turns([e for e in entries if is_open[_queue_of(e)]]))
    send(work, claimed)
    return whole and claimed_all


def _claim(work: Pass, entries: Sequence[SlotEntry]) -> tuple[list[SlotEntry], bool]:
    """Claim the runs. Return the claimed ones, and whether none was left in the slot."""
    now, token = work.engine.clock.now(), work.claim_token
    moves = [
        lifecycle.claim(entry.run_id, entry.slot, entry.generation, entry.due_at, now=now, claim_token=token)
        for entry in entries
    ]
    deadline = work.deadline.at_most(now + DECISION_MS)
    claimed, whole = _apply(work, entries, moves, deadline, lambda _, current: current.claim_token == token)
    work.counts["claimed"] += len(claimed)
    return claimed, whole


def _wait_for_queues(work: Pass, entries: Sequence[SlotEntry]) -> bool:
    """Put the runs of closed queues on the queues' waiting lists. Return whether none was left in the slot.

    A run stays in the slot of a minute that has not passed: its queue may be open again at the next tick.
    """
    present = bucket_of(work.engine.clock.now())
    by_queue: defaultdict[tuple[str, Priority], list[SlotEntry]] = defaultdict(list)
    for entry in entries:
        if slot_bucket(entry.slot) < present:
            by_queue[_queue_of(entry)].append(entry)
    stay = len(entries) - sum(map(len, by_queue.values()))
    work.counts["queue_closed"] += stay
    listed = [_wait_for_queue(work, *queue, some) for queue, some in by_queue.items()]
    return not stay and all(listed)


def _wait_for_queue(work: Pass, pool: str, priority: Priority, entries: Sequence[SlotEntry]) -> bool:
    where = work.points.list_of(pool, priority)
    if where is None:
        work.counts["queue_not_flagged"] += 1
        return False
    moves = [
        lifecycle.change_slot(entry.run_id, entry.generation, entry.slot, where.slot_for(entry.run_id))
        for entry in entries
    ]
    deadline = work.deadline.at_most(where.until)
    moved, whole = _apply(work, entries, moves, deadline, lambda move, now: now.slot == move.changes["slot"])
    work.counts["wait_for_queue"] += len(moved)
    return whole


def _apply(
    work: Pass,
    entries: Sequence[SlotEntry],
    moves: Sequence[Move],
    deadline: Deadline,
    shows_write: Callable[[Move, Record], bool],
) -> tuple[list[SlotEntry], bool]:
    """Apply one move to each entry of a slot. Return the moved ones, and whether none was left in the slot."""
    if not entries:
        return [], True
    outcomes = work.engine.store.move_many(moves, deadline)
    answers = list(zip(entries, moves, outcomes, strict=True))
    moved = [e for e, m, o in answers if is_written(o, lambda current: shows_write(m, current))]  # noqa: B023
    faults = {e.run_id: why for e, m, o in answers if (why := fault_of(o, m) or misplaced(e, o)) is not None}
    undecided = sum(isinstance(outcome, Undecided) and not outcome.permanent for outcome in outcomes)
    work.counts.update(throttled=undecided, lost_race=len(entries) - len(moved) - undecided - len(faults))
    return moved, (not faults or work.set_aside(entries[0].slot, faults)) and not undecided


def _queue_of(entry: SlotEntry) -> tuple[str, Priority]:
    return entry.pool, entry.priority


def send(work: Pass, runs: Sequence[SlotEntry | Record]) -> None:
    unsent = send_runs(work.engine, runs, work.deadline) if runs else 0
    work.counts.update(sent=len(runs) - unsent, unsent=unsent)
