"""The tick: plan it, claim due slots, sweep watch slots, and count what it did."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from onthedot.core.claim import CLAIMS_PER_ROUND, Pass, claim_slot, send
from onthedot.core.engine import Core
from onthedot.core.errors import Unavailable
from onthedot.core.ids import fresh_generation
from onthedot.core.pass_progress import (
    ProgressStore,
    ShardProgress,
    completed,
    deep_end,
    deep_range,
    first_bucket,
    first_progress,
)
from onthedot.core.ports import Clock, Deadline, Tick, TickLease, TickQueue
from onthedot.core.records import Status
from onthedot.core.send import read_slot_pages
from onthedot.core.set_aside import is_time_to_look, take_up
from onthedot.core.shards import UNUSED_AFTER
from onthedot.core.slots import BUCKET_MS, WATCH_DISTANCE, SlotKind, bucket_of, horizon, slot_name
from onthedot.core.sweep import sweep_slot

_LOG: Final = logging.getLogger(__name__)
CLAIMED_AHEAD: Final = 13
"""Buckets. A run that is due in the last one still has a delay below the 900 s of SQS."""
LARGE_SLOT: Final = 1_000
"""A slot with this many runs is claimed early, so that the writes of a midnight are spread."""
LOOKS_PART: Final = 2
"""The sweep looks at gates for this part of the time left, so that they do not hold up other passes. The remaining
gates follow when all passes are done."""
LEASE_SPARE_MS: Final = 10_000
"""A dispatcher that passes its deadline ends within this time."""


def dispatch_due(engine: Core, progress_store: ProgressStore, tick: Tick, deadline: Deadline) -> Counter[str]:
    """Do one tick and return its counts.

    With `out_of_time` another tick must follow at once. With `busy` another tick of these shards is under way, and this
    one does nothing. With `closed` the stage is frozen or imports data, and the tick only notes its time.
    """
    now = engine.clock.now()
    lease = TickLease(tick.shards, tick.tick_id or fresh_generation(), deadline.at + LEASE_SPARE_MS)
    before = progress_store.begin(lease, now)
    if before is None:
        return Counter(busy=1)
    if engine.points.why_closed(engine) is not None:
        # No slot is read, so the progress of all passes stays where it is.
        after = {shard: before.get(shard) or _born(engine, shard, now) for shard in lease.shards}
        progress_store.finish(lease, before, {shard: replace(done, ticked_at=now) for shard, done in after.items()})
        return Counter(closed=1)
    work = Pass(engine, tick, now, deadline, f"{tick.tick_id}/{fresh_generation()}")
    if tick.redelivered:
        _send_claims_again(work)
    progress = {shard: _known(work, shard, before) or _born(engine, shard, now) for shard in tick.shards}
    after = _do_passes(work, progress)
    if not work.counts["out_of_time"]:
        ended_at = engine.clock.now()
        after = {shard: replace(done, ticked_at=ended_at) for shard, done in after.items()}
    work.counts["overtaken_progress"] += len(progress_store.finish(lease, before, after))
    return work.counts


def must_be_redelivered(tick: Tick, counts: Counter[str]) -> bool:
    """Return whether the queue should deliver the tick again, because runs may be claimed and not sent.

    It is done a second time at most: a queue that is gone must not double the work of its group forever.
    """
    return bool(counts["busy"] if tick.redelivered else counts["unsent"] or counts["slot_failed"])


def _born(engine: Core, shard: int, now: int) -> ShardProgress:
    return first_progress(shard, engine.shards.read().born(shard), bucket_of(now))


def _do_passes(work: Pass, progress: dict[int, ShardProgress]) -> dict[int, ShardProgress]:
    """Do the passes of all shards, the most urgent first: the runs that are due soon, then the sweep, then the past.

    Each tick begins with another shard, so that no shard is always the last when time is short.
    """
    present = bucket_of(work.now)
    last = bucket_of(horizon(work.now, work.engine.deployment.lookahead) - 1)
    turn = present % len(work.tick.shards)
    shards = [*work.tick.shards[turn:], *work.tick.shards[:turn]]
    for shard in shards:
        _visit(work, SlotKind.FIRE, shard, range(present, last + 1))
    after = dict(progress)
    now = work.engine.clock.now()
    work.look_until = work.deadline.at_most(now + (work.deadline.at - now) // LOOKS_PART)
    for step in (_sweep, _past, _deep, _early, _look_on):
        for shard in shards:
            after[shard] = step(work, shard, after[shard], present)
    for shard in shards:
        if is_time_to_look(shard, present) and not work.is_over():
            guarded(work, f"aside of shard {shard}", lambda shard=shard: _take_up(work, shard))  # type: ignore[misc]
    return after


def _sweep(work: Pass, shard: int, progress: ShardProgress, present: int) -> ShardProgress:
    left = _visit(work, SlotKind.WATCH, shard, range(first_bucket(progress.watch, present), present + 1))
    return replace(progress, watch=completed(progress.watch, present, left))


def _look_on(work: Pass, shard: int, progress: ShardProgress, present: int) -> ShardProgress:
    work.look_until = work.deadline
    return _sweep(work, shard, progress, present) if shard in work.gates_left and not work.is_over() else progress


def _past(work: Pass, shard: int, progress: ShardProgress, present: int) -> ShardProgress:
    left = _visit(work, SlotKind.FIRE, shard, range(first_bucket(progress.fire, present), present))
    return replace(progress, fire=completed(progress.fire, present, left))


def _deep(work: Pass, shard: int, progress: ShardProgress, present: int) -> ShardProgress:
    """Read slots of the day before a second time, for records that were written very late."""
    buckets = deep_range(progress, present)
    if not buckets:
        return progress
    left = [bucket for kind in SlotKind for bucket in _visit(work, kind, shard, buckets)]
    return replace(progress, deep=min([buckets.stop, *left]), deep_until=deep_end(progress, present))


def _early(work: Pass, shard: int, progress: ShardProgress, present: int) -> ShardProgress:
    """Claim large slots minutes before they reach the horizon. The queue delays their messages for longer.

    A large slot for which this tick has no time is continued by the next one.
    """
    last = bucket_of(horizon(work.now, work.engine.deployment.lookahead) - 1)
    early = max(min(progress.early, present + CLAIMED_AHEAD), last)
    for bucket in range(early + 1, present + CLAIMED_AHEAD + 1):
        if work.out_of_time() or not guarded(work, f"early {bucket}", lambda: _claim_large(work, shard, bucket)):  # noqa: B023
            break
        early = bucket
    return replace(progress, early=early)


def _known(work: Pass, shard: int, before: Mapping[int, ShardProgress]) -> ShardProgress | None:
    """Return the stored progress. A shard that was retired and is used again has none: it begins at its new writer."""
    stored = before.get(shard)
    if stored is None or bucket_of(work.now) - stored.fire < UNUSED_AFTER:
        return stored
    born = work.engine.shards.read().born(shard)
    return None if born is not None and born > stored.fire else stored


def _claim_large(work: Pass, shard: int, bucket: int) -> bool:
    slot = slot_name(SlotKind.FIRE, shard, bucket)
    page = work.engine.store.read_slot(slot)
    if page.cursor is not None or len(page.items) >= LARGE_SLOT:
        work.counts["claimed_early"] += 1
        claim_slot(work, slot, until=(bucket + 1) * BUCKET_MS)
    return not work.is_over()


def _take_up(work: Pass, shard: int) -> bool:
    take_up(work.engine, work.counts, shard, work.deadline)
    return True


def _visit(work: Pass, kind: SlotKind, shard: int, buckets: Iterable[int]) -> list[int]:
    """Visit slots in order. Return the buckets in which runs were left, or for which there was no time."""
    left: list[int] = []
    handle = claim_slot if kind is SlotKind.FIRE else sweep_slot
    for bucket in buckets:
        if work.out_of_time():
            return [*left, bucket]
        slot = slot_name(kind, shard, bucket)
        if not guarded(work, slot, lambda: handle(work, slot)):  # noqa: B023
            left.append(bucket)
    return left


def guarded(work: Pass, what: str, step: Callable[[], bool]) -> bool:
    """Do one step, and return its answer. A step that raises an error is counted and logged, and others follow."""
    try:
        return step()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with this slot, the others must be visited
        work.counts["slot_failed"] += 1
        # A service that fails is not a fault of ours, so its log needs no traceback.
        traceback = None if isinstance(error, Unavailable) else error
        _LOG.error("slot_failed", extra={"slot": what, "error": str(error)}, exc_info=traceback)
        return False


def _send_claims_again(work: Pass) -> None:
    """Send the claims of this tick's earlier delivery, which died or could not send all, unless they have started."""
    engine, tick = work.engine, work.tick
    # One bucket of margin on either side, since the planner's clock is another machine's.
    first = bucket_of(tick.planned_at) + WATCH_DISTANCE - 1
    ahead = max(bucket_of(horizon(work.now, engine.deployment.lookahead)), bucket_of(work.now) + CLAIMED_AHEAD)
    last = ahead + WATCH_DISTANCE
    for slot in (slot_name(SlotKind.WATCH, s, b) for b in range(first, last + 1) for s in tick.shards):
        if work.out_of_time():
            return
        guarded(work, slot, lambda: _send_slot_again(work, slot))  # noqa: B023


def _send_slot_again(work: Pass, slot: str) -> bool:
    for page in read_slot_pages(work.engine, slot, CLAIMS_PER_ROUND):
        mine = [e.run_id for e in page.items if (e.claim_token or "").split("/")[0] == work.tick.tick_id]
        runs = work.engine.store.get_many(mine, work.deadline).found if mine else {}
        waiting = [run for run in runs.values() if run.status is Status.DISPATCHED and run.slot == slot]
        work.counts["sent_again"] += len(waiting)
        send(work, waiting)
    return True


def plan_ticks(queue: TickQueue, clock: Clock, *, shards: int, shards_per_group: int) -> int:
    """Send the ticks of this minute. Return their number.

    Raise Unavailable if any was not sent: then the schedule that called the planner tries again.
    """
    now = clock.now()
    firsts = range(0, shards, shards_per_group)
    ticks = [
        Tick(group, tuple(range(first, min(first + shards_per_group, shards))), now)
        for group, first in enumerate(firsts)
    ]
    return _send(queue, ticks)


def continue_tick(queue: TickQueue, clock: Clock, tick: Tick) -> int:
    return _send(queue, [Tick(tick.group, tick.shards, clock.now())])


def _send(queue: TickQueue, ticks: Sequence[Tick]) -> int:
    unsent = queue.send_ticks(ticks)
    if unsent:
        raise Unavailable(f"{len(unsent)} of {len(ticks)} ticks could not be sent")
    return len(ticks)
