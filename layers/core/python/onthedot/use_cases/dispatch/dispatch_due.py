"""One tick for one group of shards: the claim pass over the fire slots, then the sweep over the watch slots.

Crash anywhere: what is PENDING stays in its fire slot for the next tick; what was claimed and not sent
bears this tick's token in a watch slot, where the redelivered tick finds it while there is still time.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs.pass_progress import completed, first_bucket
from onthedot.domain.runs.records import Status
from onthedot.domain.runs.slots import WATCH_DISTANCE, SlotKind, bucket_of, horizon, slot_name
from onthedot.ports import Deadline, Engine, ProgressStore, Tick
from onthedot.use_cases.dispatch.claim_slots import CLAIMS_PER_ROUND, Pass, claim_slot, send
from onthedot.use_cases.dispatch.slot_reader import read_entries
from onthedot.use_cases.dispatch.sweep_overdue import sweep_slot

STAGED_AHEAD: Final = 13
"""Buckets: what is due in the last one then has a delay below SQS's 900 s."""
LARGE_SLOT: Final = 1_000
"""Runs of one shard and minute from which a slot is claimed early, to spread the writes of a midnight."""


def dispatch_due(engine: Engine, progress_store: ProgressStore, tick: Tick, deadline: Deadline) -> Counter[str]:
    """Do one tick for one group of shards. `unsent` asks for the tick's redelivery, `out_of_time` for another tick."""
    work = Pass(engine, tick, engine.clock.now(), deadline, f"{tick.tick_id}/{fresh_generation()}")
    progress = progress_store.read_progress(tick.group)
    if tick.redelivered:
        _send_again_what_this_tick_claimed(work)
    present = bucket_of(work.now)
    last = bucket_of(horizon(work.now, engine.deployment.lookahead) - 1)
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
    for shard in tick.shards:
        _stage(work, slot_name(SlotKind.FIRE, shard, present + STAGED_AHEAD))
    _note_held(work)
    for (kind, shard), buckets in left.items():
        progress = progress.with_pass(kind, shard, completed(present, buckets))
    progress_store.write_progress(tick.group, progress)
    return work.counts


def _visit(work: Pass, kind: SlotKind, shard: int, buckets: Iterable[int]) -> list[int]:
    """Go through slots in order. Returns the buckets in which something was left, or that time did not reach."""
    left: list[int] = []
    handle = claim_slot if kind is SlotKind.FIRE else _sweep
    for bucket in buckets:
        if work.out_of_time():
            return [*left, bucket]
        if not handle(work, slot_name(kind, shard, bucket)):
            left.append(bucket)
    return left


def _stage(work: Pass, slot: str) -> None:
    """A slot that is found large is claimed minutes ahead of the horizon; SQS waits the longer for it."""
    if work.out_of_time():
        return
    page = work.engine.store.read_slot(slot)
    if page.cursor is not None or len(page.items) >= LARGE_SLOT:
        work.counts["claimed_early"] += 1
        claim_slot(work, slot)


def _note_held(work: Pass) -> None:
    """For the direct path, which asks before it hands over, and for `explain`. Costs a write only while it matters."""
    if work.admission.throttled or work.admission.limits.throttled:
        work.engine.limits.mark_throttled(work.tick.group, work.admission.throttled)


def _sweep(work: Pass, slot: str) -> bool:
    swept = sweep_slot(work.engine, slot, work.claim_token, work.deadline)
    work.counts.update(swept.counts)
    return swept.whole


def _send_again_what_this_tick_claimed(work: Pass) -> None:
    """This tick's earlier delivery died or could not send all: find its claims and send those not yet started."""
    engine, tick = work.engine, work.tick
    # One bucket of margin on either side, since the planner's clock is another machine's.
    first = bucket_of(tick.planned_at) + WATCH_DISTANCE - 1
    ahead = max(bucket_of(horizon(work.now, engine.deployment.lookahead)), bucket_of(work.now) + STAGED_AHEAD)
    last = ahead + WATCH_DISTANCE
    for slot in (slot_name(SlotKind.WATCH, s, b) for b in range(first, last + 1) for s in tick.shards):
        for entries in read_entries(engine, slot, CLAIMS_PER_ROUND):
            mine = [e.run_id for e in entries if (e.claim_token or "").split("/")[0] == tick.tick_id]
            runs = engine.store.get_many(mine, work.deadline) if mine else {}
            waiting = [run for run in runs.values() if run.status is Status.DISPATCHED and run.slot == slot]
            work.counts["sent_again"] += len(waiting)
            send(work, waiting)
