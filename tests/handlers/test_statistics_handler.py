"""Batches of the table's stream: the counters that they add to, and the batches that Lambda must deliver again."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest

from onthedot.core.clock import SystemClock
from onthedot.core.errors import Unavailable
from onthedot.core.records import Status
from onthedot.settings import StatisticsSettings
from onthedot.statistics.counters import Counters, PlacedEnd, added
from onthedot.statistics.store import StatisticsStore
from tests.handlers.conftest import TABLE, Cloud, Context
from tests.handlers.test_publisher_handler import an_end

SHARD = "shardId-00000001414576573621-f55eea83"
MINUTE = SystemClock().now() // 60_000


@pytest.fixture
def statistics(cloud: Cloud, load: Callable[..., ModuleType]) -> ModuleType:
    return load("statistics", StatisticsSettings(stage="test", table=TABLE))


def batch(*records: dict[str, Any], shard: str = SHARD) -> dict[str, Any]:
    """An event as a source with a tumbling window sends it. Counters of earlier months would have expired."""
    for record in records:
        record["dynamodb"]["ApproximateCreationDateTime"] = MINUTE * 60.0
    window = {"start": "2026-03-01T12:00:00Z", "end": "2026-03-01T12:15:00Z"}
    flags = {"isFinalInvokeForWindow": False, "isWindowTerminatedEarly": False}
    return {"Records": list(records), "shardId": shard, "state": {}, "window": window, **flags}


def counters(cloud: Cloud) -> Counters:
    found = StatisticsStore(cloud.stored).read("acme", MINUTE - 10, MINUTE + 10)
    return added(one.counters for one in found)


def test_the_ends_of_a_batch_are_counted_by_one_write(statistics: ModuleType, cloud: Cloud) -> None:
    answer = statistics.handle(batch(an_end(1), an_end(2, Status.FAILED), an_end(3)), Context())
    assert answer == {"state": {}}
    assert (counters(cloud).succeeded, counters(cloud).failed) == (2, 1)
    assert len(cloud.items()) == 1


def test_a_batch_that_is_delivered_twice_is_counted_once(statistics: ModuleType, cloud: Cloud) -> None:
    for records in ((1, 2), (1, 2), (2, 3), (1,)):
        statistics.handle(batch(*(an_end(number) for number in records)), Context())
    assert counters(cloud).succeeded == 3


def test_the_same_positions_of_another_shard_are_other_changes(statistics: ModuleType, cloud: Cloud) -> None:
    statistics.handle(batch(an_end(1)), Context())
    statistics.handle(batch(an_end(1), shard="shardId-2"), Context())
    assert counters(cloud).succeeded == 2


def test_the_call_at_the_end_of_a_window_does_nothing(statistics: ModuleType, cloud: Cloud) -> None:
    final = {**batch(), "isFinalInvokeForWindow": True}
    assert statistics.handle(final, Context()) == {"state": {}}
    assert statistics.handle({"Records": []}, Context()) == {"state": {}}
    assert cloud.items() == []


def test_a_record_that_cannot_be_read_is_logged_and_counted_and_stops_no_other(
    statistics: ModuleType, cloud: Cloud, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    unreadable = an_end(1)
    unreadable["dynamodb"]["NewImage"]["status"] = {"S": "HAPPY"}
    odd = an_end(2)
    odd["dynamodb"]["SequenceNumber"] = "later"
    assert statistics.handle(batch(unreadable, odd, {"dynamodb": {}}, an_end(3)), Context()) == {"state": {}}
    assert counters(cloud).succeeded == 1
    assert "unreadable_record" in [record.message for record in caplog.records]
    assert '"unsettled":[3]' in capsys.readouterr().out


class Failing:
    """A writer that fails for some ends."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.written: list[int] = []

    def add(self, shard: str, ends: Sequence[PlacedEnd]) -> None:
        if ends[0].ended.tenant == "bad":
            raise self.error
        self.written += [one.position for one in ends]


def of_bad_tenant(number: int) -> dict[str, Any]:
    record = an_end(number)
    for image in ("OldImage", "NewImage"):
        record["dynamodb"][image]["tenant"] = {"S": "bad"}
    return record


def test_a_batch_whose_counters_cannot_be_written_now_is_delivered_again_and_others_are_counted(
    statistics: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Failing(Unavailable("throttled"))
    monkeypatch.setattr(statistics, "_writer", writer)
    with pytest.raises(Unavailable, match="counters of 1 minutes"):
        statistics.handle(batch(of_bad_tenant(1), an_end(2)), Context())
    assert writer.written == [2]


def test_counters_that_can_never_be_written_do_not_stop_the_shard(
    statistics: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = Failing(ValueError("item too large"))
    monkeypatch.setattr(statistics, "_writer", writer)
    assert statistics.handle(batch(of_bad_tenant(1), an_end(2)), Context()) == {"state": {}}
    assert writer.written == [2]
    assert '"unsettled":[1]' in capsys.readouterr().out


def test_a_batch_without_time_left_is_delivered_again(statistics: ModuleType) -> None:
    class Late(Context):
        def get_remaining_time_in_millis(self) -> int:
            return 1_000

    with pytest.raises(Unavailable):
        statistics.handle(batch(an_end(1)), Late())
