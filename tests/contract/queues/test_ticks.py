"""The tick queue: a tick whose dispatcher died comes again, recognisably."""

from collections.abc import Callable
from dataclasses import replace

from onthedot.core.ports import Clock, Tick, TickQueue
from tests.contract.kits.kit import VISIBILITY_SECONDS, TickInbox

Ticks = tuple[TickQueue, TickInbox]


def a_tick(clock: Clock, group: int = 0) -> Tick:
    return Tick(group, (2 * group, 2 * group + 1), clock.now())


def test_a_tick_arrives_as_it_was_sent(tick_queue: Ticks, clock: Clock) -> None:
    queue, inbox = tick_queue
    tick = a_tick(clock)

    assert list(queue.send_ticks([tick])) == []

    [received] = inbox.receive()
    assert replace(received.tick, tick_id="") == tick
    assert received.tick.tick_id


def test_each_tick_has_its_own_id(tick_queue: Ticks, clock: Clock) -> None:
    queue, inbox = tick_queue
    queue.send_ticks([a_tick(clock, group) for group in range(12)])

    received = inbox.receive() + inbox.receive()

    assert sorted(h.tick.group for h in received) == list(range(12))
    assert len({h.tick.tick_id for h in received}) == 12


def test_a_tick_that_nobody_deleted_comes_again_with_the_same_id(
    tick_queue: Ticks, clock: Clock, let_pass: Callable[[float], None]
) -> None:
    queue, inbox = tick_queue
    queue.send_ticks([a_tick(clock)])
    [first] = inbox.receive()
    assert inbox.receive() == []

    let_pass(VISIBILITY_SECONDS)

    [again] = inbox.receive()
    assert again.tick == replace(first.tick, redelivered=True)


def test_a_deleted_tick_never_comes_again(tick_queue: Ticks, clock: Clock, let_pass: Callable[[float], None]) -> None:
    queue, inbox = tick_queue
    queue.send_ticks([a_tick(clock)])
    [received] = inbox.receive()
    inbox.delete(received)

    let_pass(VISIBILITY_SECONDS)

    assert inbox.receive() == []
