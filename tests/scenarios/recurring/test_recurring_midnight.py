"""A small midnight with slow services: the jobs of a large slot are sent before their time because they are staged."""

import pytest

from benchmarks.midnight import MIDNIGHT, Group, ids_by_shard, simulate
from benchmarks.slow_calls import Latency
from onthedot.core import tick
from onthedot.core.slots import Deployment

TWO_SHARDS = Deployment(shards=2, lookahead=3, history_days=7)
JOBS = 2_400
SLOW = Latency(write=800, read=600, page=40, send=320, cpu_per_stamp=50)
"""Forty times slower than AWS, for a hundredth of the jobs: one group needs more time than the horizon gives."""


def a_midnight() -> Group:
    return simulate(0, ids_by_shard(JOBS, 2), TWO_SHARDS, SLOW)


def test_a_midnight_of_cron_jobs_is_sent_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # The rest of a large slot that is not large any more waits for the horizon.
    monkeypatch.setattr(tick, "LARGE_SLOT", 100)
    group = a_midnight()
    assert (group.sent, group.late) == (JOBS, 0)
    assert group.last_sent < MIDNIGHT - 60_000
    assert group.continued > 2, "a tick that ran out of time was continued"


def test_without_staging_the_same_midnight_would_be_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tick, "LARGE_SLOT", 10**9)
    monkeypatch.setattr("benchmarks.midnight.SLOT_PAGE", 10**6)
    assert a_midnight().late > 0
