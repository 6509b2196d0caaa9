"""The claim pass: take what is due before the horizon out of its fire slots and hand it to SQS.

Crash anywhere: what is PENDING stays in its fire slot for the next tick; what was claimed and not sent
bears this tick's token in a watch slot, where the redelivered tick finds it while there is still time.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.domain import lifecycle
from onthedot.domain.ids import fresh_generation
from onthedot.domain.progress import completed, first_bucket
from onthedot.domain.run import Kind, Record, Status
from onthedot.domain.slots import DECISION_MS, WATCH_DISTANCE, SlotKind, bucket_of, horizon, slot_name
from onthedot.ports import Deadline, Engine, Moved, ProgressStore, Refused, SlotEntry, Tick, Undecided
from onthedot.use_cases.hand_over import hand_over
from onthedot.use_cases.slot_reader import read_entries
from onthedot.use_cases.stamp_runs import stamp_jobs
from onthedot.use_cases.sweep_overdue import sweep_slot

CLAIMS_PER_ROUND: Final = 100


@dataclass(slots=True)
class Pass:
    """One tick at work."""

    engine: Engine
    tick: Tick
    now: int
    deadline: Deadline
    token: str
    counts: Counter[str] = field(default_factory=Counter)

    def out_of_time(self) -> bool:
        """What is left then is left for the next tick: the slots still hold it."""
        over = not self.deadline.allows(self.engine.clock.now())
        self.counts["out_of_time"] += over
        return over


def dispatch_due(engine: Engine, progress_store: ProgressStore, tick: Tick, deadline: Deadline) -> Counter[str]:
    """Do one tick for one group of shards. `counts["unsent"]` above zero asks for the tick's redelivery."""
    work = Pass(engine, tick, engine.clock.now(), deadline, f"{tick.tick_id}/{fresh_generation()}")
    progress = progress_store.read_progress(tick.group)
    if tick.redelivered:
        _send_again_what_this_tick_claimed(work)
    present = bucket_of(work.now)
    last = bucket_of(horizon(work.now, engine.plan.lookahead) - 1)
    left: dict[tuple[SlotKind, int], list[int]] = {(kind, s): [] for kind in SlotKind for s in tick.shards}

    def visit(kind: SlotKind, shard: int, buckets: Iterable[int]) -> None:
        left[kind, shard] += _visit(work, kind, shard, buckets)

    for shard in tick.shards:
        visit(SlotKind.FIRE, shard, range(present, last + 1))
    for shard in tick.shards:
        visit(SlotKind.FIRE, shard, range(first_bucket(progress.of(SlotKind.FIRE, shard), present, shard), present))
        visit(
            SlotKind.WATCH, shard, range(first_bucket(progress.of(SlotKind.WATCH, shard), present, shard), present + 1)
        )
    for (kind, shard), buckets in left.items():
        progress = progress.with_pass(kind, shard, completed(present, buckets))
    progress_store.write_progress(tick.group, progress)
    return work.counts


def _visit(work: Pass, kind: SlotKind, shard: int, buckets: Iterable[int]) -> list[int]:
    """Go through slots in order. Returns the buckets in which something was left, or that time did not reach."""
    left: list[int] = []
    handle = _claim_slot if kind is SlotKind.FIRE else _sweep
    for bucket in buckets:
        if work.out_of_time():
            return [*left, bucket]
        if not handle(work, slot_name(kind, shard, bucket)):
            left.append(bucket)
    return left


def _claim_slot(work: Pass, slot: str) -> bool:
    """Claim and send all of a fire slot. False if anything was left in it."""
    whole = True
    for entries in read_entries(work.engine, slot, CLAIMS_PER_ROUND):
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
    stamped = stamp_jobs(work.engine, job_ids, work.token, work.deadline)
    work.counts.update(stamped.counts)
    return stamped.whole


def _claim_and_send(work: Pass, entries: Sequence[SlotEntry]) -> bool:
    if not entries:
        return True
    claimed, undecided = _claim(work, entries)
    _send(work, claimed)
    return not undecided


def _claim(work: Pass, entries: Sequence[SlotEntry]) -> tuple[list[SlotEntry], int]:
    engine = work.engine
    now = engine.clock.now()
    moves = [
        lifecycle.claim(entry.run_id, entry.slot, entry.generation, entry.fire_at, now=now, token=work.token)
        for entry in entries
    ]
    outcomes = engine.store.move_many(moves, Deadline(min(work.deadline.at, now + DECISION_MS)))
    claimed = [entry for entry, outcome in zip(entries, outcomes, strict=True) if _is_ours(outcome, work.token)]
    undecided = sum(isinstance(outcome, Undecided) for outcome in outcomes)
    work.counts.update(claimed=len(claimed), throttled=undecided, lost_race=len(entries) - len(claimed) - undecided)
    return claimed, undecided


def _is_ours(outcome: Moved | Refused | Undecided, token: str) -> bool:
    """A refusal by our own token is a success whose reply was lost."""
    if isinstance(outcome, Refused):
        return outcome.current is not None and outcome.current.token == token
    return isinstance(outcome, Moved)


def _send(work: Pass, runs: Sequence[SlotEntry | Record]) -> None:
    unsent = hand_over(work.engine, runs, work.deadline)
    work.counts.update(sent=len(runs) - unsent, unsent=unsent)


def _sweep(work: Pass, slot: str) -> bool:
    swept = sweep_slot(work.engine, slot, work.token, work.deadline)
    work.counts.update(swept.counts)
    return swept.whole


def _send_again_what_this_tick_claimed(work: Pass) -> None:
    """This tick's earlier delivery died or could not send all: find its claims and send those not yet started."""
    engine, tick = work.engine, work.tick
    # One bucket of margin on either side, since the planner's clock is another machine's.
    first = bucket_of(tick.planned_at) + WATCH_DISTANCE - 1
    last = bucket_of(max(work.now, horizon(work.now, engine.plan.lookahead))) + WATCH_DISTANCE
    for slot in (slot_name(SlotKind.WATCH, s, b) for b in range(first, last + 1) for s in tick.shards):
        for entries in read_entries(engine, slot, CLAIMS_PER_ROUND):
            mine = [e.run_id for e in entries if (e.token or "").split("/")[0] == tick.tick_id]
            runs = engine.store.get_many(mine, work.deadline) if mine else {}
            waiting = [run for run in runs.values() if run.status is Status.DISPATCHED and run.slot == slot]
            work.counts["sent_again"] += len(waiting)
            _send(work, waiting)
