"""An attempt writes only while it owns its run: by its number, by its token, and by the lease that a sweep has read."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from onthedot.core import lifecycle
from onthedot.core.lifecycle import Failure
from onthedot.core.moves import Move
from onthedot.core.ports import Clock, Moved, Refused, RunStore
from onthedot.core.records import Record, Status
from tests.builders import DEPLOYMENT, a_run, the_start_of

OOPS = Failure("HTTP 500")
MOVES: Mapping[str, Callable[[Record, int], Move]] = {
    "extend its lease": lifecycle.extend_lease,
    "repark": lambda run, now: lifecycle.repark(run, now, DEPLOYMENT),
    "succeed": lambda run, now: lifecycle.succeed(run, now, None, DEPLOYMENT),
    "retry": lambda run, now: lifecycle.retry(
        run, now, at=now + 2_000, failure=OOPS, generation="g2", deployment=DEPLOYMENT
    ),
    "fail": lambda run, now: lifecycle.fail(run, now, failure=OOPS, why="no retry left", deployment=DEPLOYMENT),
    "stop": lambda run, now: lifecycle.stop(run, now, OOPS, DEPLOYMENT),
    "lose": lambda run, now: lifecycle.lose(run, now, generation="g2", deployment=DEPLOYMENT),
}
"""The moves of an attempt that has started."""


def started(store: RunStore, clock: Clock) -> Record:
    outcome = store.move(the_start_of(a_run(clock).dispatched().stored_in(store), clock.now()))
    assert isinstance(outcome, Moved)
    assert outcome.run is not None
    return outcome.run


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_an_attempt_of_the_same_number_with_another_token_is_fenced_off(
    store: RunStore, clock: Clock, move: Callable[[Record, int], Move]
) -> None:
    """A worker whose start was refused has the number that another worker's start made."""
    run = started(store, clock)

    outcome = store.move(move(replace(run, attempt_token="another"), clock.now()))

    assert outcome == Refused(run)
    assert store.get(run.run_id) == run


def test_an_attempt_whose_lease_was_extended_meanwhile_is_not_lost(store: RunStore, clock: Clock) -> None:
    """The sweep read the run before the heartbeat, and decides after it."""
    run = started(store, clock)
    extended = store.move(lifecycle.extend_lease(run, clock.now() + 10_000))

    outcome = store.move(MOVES["lose"](run, clock.now() + 40_000))

    assert isinstance(extended, Moved)
    assert isinstance(outcome, Refused)
    stored = store.get(run.run_id)
    assert stored is not None
    assert (stored.status, stored.losses) == (Status.RUNNING, 0)
