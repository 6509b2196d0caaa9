"""Time passes only when the test says so, and everything on the way happens in order at its time."""

import threading
from datetime import UTC, datetime, timedelta

import pytest

from onthedot.testing import Kit
from onthedot.testing.kit import milliseconds

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "https://x.example/"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1h", 3_600_000),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        ("90s", 90_000),
        ("2d", 172_800_000),
        ("1w", 604_800_000),
        ("1.5s", 1_500),
        ("250ms", 250),
        (3600, 3_600_000),
        (0.25, 250),
        (0, 0),
        (timedelta(minutes=1), 60_000),
    ],
)
def test_durations(written: str | float | timedelta, expected: int) -> None:
    assert milliseconds(written) == expected


@pytest.mark.parametrize("written", ["", "h", "1", "1x", "1h!", "-1h", -1, float("inf"), float("nan"), timedelta(-1)])
def test_anything_else_is_refused(written: str | float | timedelta) -> None:
    with pytest.raises(ValueError, match="duration"):
        milliseconds(written)


def test_the_clock_stands_still_until_it_is_moved(onthedot: Kit) -> None:
    assert onthedot.clock.now == NOON
    onthedot.client.schedule(url=URL)
    assert onthedot.calls == []
    onthedot.clock.advance(0)
    assert [call.at for call in onthedot.calls] == [NOON]
    onthedot.clock.advance_to(NOON + timedelta(days=1))
    assert onthedot.clock.now == NOON + timedelta(days=1)


def test_time_only_goes_forward(onthedot: Kit) -> None:
    with pytest.raises(ValueError, match="forward"):
        onthedot.clock.advance_to(NOON - timedelta(seconds=1))
    with pytest.raises(ValueError, match="time zone"):
        onthedot.clock.advance_to(datetime(2026, 3, 2))  # noqa: DTZ001


def test_runs_fire_in_order_at_their_exact_times(onthedot: Kit) -> None:
    delays = [0.9, 0.001, 61.5, 3599.999, 0.6, 3600, 86_400 * 40.0, 59.999, 60]
    for delay in delays:
        onthedot.client.schedule(url=URL, payload=delay, delay=delay)
    onthedot.clock.advance("40d")
    assert [call.json() for call in onthedot.calls] == sorted(delays)
    assert [call.at for call in onthedot.calls] == [NOON + timedelta(seconds=delay) for delay in sorted(delays)]
    assert {run.lateness_ms for run in onthedot.runs()} == {0}


def test_the_end_of_the_time_belongs_to_it(onthedot: Kit) -> None:
    onthedot.client.schedule(url=URL, delay=600)
    onthedot.clock.advance(599.999)
    assert onthedot.calls == []
    onthedot.clock.advance(0.001)
    assert len(onthedot.calls) == 1


def test_a_schedule_fires_through_a_change_of_the_clocks(onthedot: Kit) -> None:
    onthedot.client.schedule(url=URL, cron="30 9 * * mon-fri", timezone="Europe/Berlin", name="report")
    onthedot.clock.advance_to(datetime(2026, 4, 4, tzinfo=UTC))
    hours = [(call.at.day, call.at.hour) for call in onthedot.calls if call.at >= datetime(2026, 3, 26, tzinfo=UTC)]
    assert hours == [(26, 8), (27, 8), (30, 7), (31, 7), (1, 7), (2, 7), (3, 7)]
    onthedot.assert_succeeded("report", times=25)


def test_higher_priorities_come_first_at_one_instant(onthedot: Kit) -> None:
    for priority in ("LOW", "MEDIUM", "HIGH"):
        onthedot.client.schedule(url=URL, payload=priority, delay=60, priority=priority)
    onthedot.clock.advance("1m")
    assert [call.json() for call in onthedot.calls] == ["HIGH", "MEDIUM", "LOW"]


def test_a_stopped_schedule_does_not_fire(onthedot: Kit) -> None:
    job = onthedot.client.schedule(url=URL, every=3600)
    onthedot.clock.advance("2h")
    onthedot.client.pause(job.id)
    onthedot.clock.advance("1d")
    assert len(onthedot.calls) == 2
    onthedot.client.resume(job.id)
    onthedot.clock.advance("1h")
    assert len(onthedot.calls) >= 3


def test_a_gate_is_obeyed(onthedot: Kit) -> None:
    put_gate(onthedot, "stripe", {"per_second": 1})
    for _ in range(5):
        onthedot.client.schedule(url=URL, gates=["stripe"])
    onthedot.settle()
    times = [call.at for call in onthedot.calls]
    assert len(times) == 5
    assert times[-1] - times[0] >= timedelta(seconds=3)


def put_gate(onthedot: Kit, name: str, limits: dict[str, float]) -> None:
    client = onthedot.client
    reply = client._transport.send(
        "PUT", f"/v1/gates/{name}", {}, str(limits).replace("'", '"').encode(), client._headers
    )
    assert reply.status == 200, reply


def test_a_handler_cannot_move_the_clock(onthedot: Kit) -> None:
    def move(_: object) -> int:
        onthedot.clock.advance(1)
        return 200

    onthedot.reply_next(move)
    onthedot.client.schedule(url=URL)
    with pytest.raises(RuntimeError, match="cannot move the clock"):
        onthedot.clock.advance(1)


def test_the_scheduler_is_alive_however_far_the_clock_moves(onthedot: Kit) -> None:
    job = onthedot.client.schedule(url=URL, every=86_400)
    onthedot.clock.advance("30d")
    assert "scheduler_late" not in {reason.code for reason in onthedot.client.explain(job.id).reasons}


def test_no_thread_is_left_behind(onthedot: Kit) -> None:
    before = set(threading.enumerate())
    onthedot.client.schedule(url=URL, every=60, max_runs=100)
    onthedot.clock.advance("2h")
    assert set(threading.enumerate()) <= before, "threads of earlier tests may end meanwhile"


class TestFromAnotherTime:
    @pytest.fixture
    def onthedot_start(self) -> datetime:
        return datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC)

    def test_the_clock_begins_there(self, onthedot: Kit) -> None:
        onthedot.client.schedule(url=URL, cron="@yearly")
        onthedot.clock.advance(1)
        assert [call.at.year for call in onthedot.calls] == [2000]
