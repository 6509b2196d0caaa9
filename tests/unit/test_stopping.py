"""A running attempt is asked to stop once. Blocking code is interrupted, also when it registers after the request."""

from onthedot.core.stopping import Stop


def test_the_first_reason_counts() -> None:
    stop = Stop()
    assert stop.reason is None
    stop.ask("cancelled")
    stop.ask("again")
    assert stop.reason == "cancelled"


def test_whoever_blocks_is_interrupted_once() -> None:
    stop, told = Stop(), []
    with stop.interrupting(lambda: told.append("first")):
        stop.ask("now")
        stop.ask("now")
    assert told == ["first"]


def test_one_that_comes_late_is_told_at_once() -> None:
    stop, told = Stop(), []
    stop.ask("now")
    with stop.interrupting(lambda: told.append("late")):
        assert told == ["late"]


def test_one_that_is_through_is_left_alone() -> None:
    stop, told = Stop(), []
    with stop.interrupting(lambda: told.append("gone")):
        pass
    stop.ask("now")
    assert told == []


def test_waiting_ends_when_it_is_asked() -> None:
    stop = Stop()
    assert not stop.wait(0)
    stop.ask("now")
    assert stop.wait(0)
