"""A record that was set aside, or whose pool is gone, leaves shards that are used no more."""

from dataclasses import replace

import pytest

from onthedot.core import lifecycle
from onthedot.core.records import Status
from onthedot.core.slots import BUCKET_MS, Deployment, SlotKind, bucket_of, shard_of, slot_name
from tests.builders import NOON, VirtualClock, a_run

FEW = Deployment(shards=2, lookahead=3, history_days=7)


@pytest.mark.parametrize(
    ("status", "kind", "ahead"), [(Status.PENDING, SlotKind.FIRE, 10), (Status.DISPATCHED, SlotKind.WATCH, 2)]
)
def test_a_record_is_put_back_in_the_shard_that_it_has_today(status: Status, kind: SlotKind, ahead: int) -> None:
    run = replace(a_run(VirtualClock()).due_in(600).build(), status=status, slot="aside#7", aside_why="test")
    move = lifecycle.put_back(run, NOON, FEW)
    assert move.changes["slot"] == slot_name(kind, shard_of(run.job_id, FEW.shards), bucket_of(NOON) + ahead)


def test_a_run_without_a_pool_waits_in_the_shard_that_it_has_today() -> None:
    run = replace(a_run(VirtualClock()).pending().build(), slot=slot_name(SlotKind.FIRE, 7, bucket_of(NOON)))
    move = lifecycle.wait_for_pool(run, NOON, "pool gpu is gone", FEW)
    later = bucket_of(NOON + 2 * BUCKET_MS)
    assert move.changes["slot"] == slot_name(SlotKind.FIRE, shard_of(run.job_id, FEW.shards), later)
