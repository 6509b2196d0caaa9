"""Do one tick for one group of shards: the claim pass over the fire slots, then the sweep over the watch slots.

The dispatcher may crash anywhere. A PENDING run stays in its fire slot for the next tick. A run that was claimed and
not sent has the claim token of this tick in a watch slot, where the redelivered tick finds it in time.
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
from onthedot.use_cases.dispatch.slot_entries import read_slot_entries
from onthedot.use_cases.dispatch.sweep_overdue import sweep_slot

CLAIMED_AHEAD: Final = 13
"""Buckets. A run that is due in the last one still has a delay below the 900 s of SQS."""
LARGE_SLOT: Final = 1_000
"""A slot with so many runs is claimed early, so that the writes of a midnight are spread."""


def dispatch_due(engine: Engine, progress_store: ProgressStore, tick: Tick, deadline: Deadline) -> Counter[str]:
    """Do one tick and return its counts.

    With `unsent` runs the tick must be delivered again. With `out_of_time` another tick must follow at once.
    """
    work = Pass(engine, tick, engine.clock.now(), deadline, f"{tick.tick_id}/{fresh_generation()}")
    progress = progress_store.read_progress(tick.group)
    if tick.redelivered:
        _send_claims_again(work)
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
        _claim_early(work, slot_name(SlotKind.FIRE, shard, present + CLAIMED_AHEAD))
    _mark_throttled(work)
    for (kind, shard), buckets in left.items():
        progress = progress.with_pass(kind, shard, completed(present, buckets))
    progress_store.write_progress(tick.group, progress)
    return work.counts


def _visit(work: Pass, kind: SlotKind, shard: int, buckets: Iterable[int]) -> list[int]:
    """Visit slots in order. Return the buckets in which runs were left.

    When time runs out, the first bucket that was not visited is among them.
    """
    left: list[int] = []
    handle = claim_slot if kind is SlotKind.FIRE else _sweep
    for bucket in buckets:
        if work.out_of_time():
            return [*left, bucket]
        if not handle(work, slot_name(kind, shard, bucket)):
            left.append(bucket)
    return left


def _claim_early(work: Pass, slot: str) -> None:
    """Claim a large slot minutes before it reaches the horizon. The queue delays its messages for longer."""
    if work.out_of_time():
        return
    page = work.engine.store.read_slot(slot)
    if page.cursor is not None or len(page.items) >= LARGE_SLOT:
        work.counts["claimed_early"] += 1
        claim_slot(work, slot)


def _mark_throttled(work: Pass) -> None:
    """Store which tenants and queues are throttled, for the API, which asks before it sends, and for `explain`.

    It costs a write only if some are throttled now, or were before.
    """
    if work.quota.throttled or work.quota.limits.throttled:
        work.engine.limits.mark_throttled(work.tick.group, work.quota.throttled)


def _sweep(work: Pass, slot: str) -> bool:
    swept = sweep_slot(work.engine, slot, work.claim_token, work.deadline, work.queues)
    work.counts.update(swept.counts)
    return swept.whole


def _send_claims_again(work: Pass) -> None:
    """Send the claims of this tick's earlier delivery, which died or could not send all, unless they have started."""
    engine, tick = work.engine, work.tick
    # One bucket of margin on either side, since the planner's clock is another machine's.
    first = bucket_of(tick.planned_at) + WATCH_DISTANCE - 1
    ahead = max(bucket_of(horizon(work.now, engine.deployment.lookahead)), bucket_of(work.now) + CLAIMED_AHEAD)
    last = ahead + WATCH_DISTANCE
    for slot in (slot_name(SlotKind.WATCH, s, b) for b in range(first, last + 1) for s in tick.shards):
        for entries in read_slot_entries(engine, slot, CLAIMS_PER_ROUND):
            mine = [e.run_id for e in entries if (e.claim_token or "").split("/")[0] == tick.tick_id]
            runs = engine.store.get_many(mine, work.deadline).found if mine else {}
            waiting = [run for run in runs.values() if run.status is Status.DISPATCHED and run.slot == slot]
            work.counts["sent_again"] += len(waiting)
            send(work, waiting)
