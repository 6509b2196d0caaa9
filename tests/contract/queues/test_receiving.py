"""Receiving from run queues: how many messages, for how long, waiting for the first, and foreign messages."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from onthedot.core.choices import Priority
from onthedot.core.ports import Clock, Deadline, Received, RunQueues
from onthedot.core.schema import DEFAULT_POOL, PRIORITIES
from onthedot.core.slots import queue_key
from onthedot.engines.aws.sqs.queues import SqsRunQueues
from tests.contract.kits.kit import MAX_RECEIVES, VISIBILITY_SECONDS, Inbox, a_message, busy_ms
from tests.contract.kits.ministack_kit import Clients, MiniStackKit

LetPass = Callable[[float], None]
MEDIUM = Priority.MEDIUM


def receive(queues: RunQueues, maximum: int = 10, visibility_ms: int = 30_000, wait_ms: int = 0) -> list[Received]:
    return list(queues.receive(DEFAULT_POOL, MEDIUM, maximum, visibility_ms=visibility_ms, wait_ms=wait_ms))


@pytest.mark.parametrize(("maximum", "most"), [(1, 1), (3, 3), (10, 10), (25, 10)])
def test_no_more_come_than_were_asked_for_and_never_more_than_ten(
    queues: RunQueues, clock: Clock, soon: Deadline, maximum: int, most: int
) -> None:
    queues.send([a_message(clock, run_id=f"job_{number}") for number in range(12)], soon)

    assert len(receive(queues, maximum)) == most


def test_a_message_is_hidden_for_as_long_as_was_asked(
    queues: RunQueues, clock: Clock, soon: Deadline, let_pass: LetPass
) -> None:
    queues.send([a_message(clock, run_id="job_long")], soon)
    receive(queues, visibility_ms=30_000)
    queues.send([a_message(clock, run_id="job_short")], soon)
    receive(queues, visibility_ms=1000)

    let_pass(1)

    assert [(one.message.run_id, one.receive_count) for one in receive(queues)] == [("job_short", 2)]


def test_a_message_that_is_not_hidden_comes_again_at_once(queues: RunQueues, clock: Clock, soon: Deadline) -> None:
    queues.send([a_message(clock)], soon)

    assert [receive(queues, visibility_ms=0)[0].receive_count for _ in range(2)] == [1, 2]


def test_who_waits_gets_the_first_message_when_it_comes(queues: RunQueues, clock: Clock, soon: Deadline) -> None:
    message = a_message(clock, due_in=1.5)
    queues.send([message], soon)

    received = receive(queues, wait_ms=3_000)

    assert [one.message for one in received] == [message]
    assert message.fire_at - 1000 <= clock.now() <= message.fire_at + busy_ms(clock)


def test_who_waits_in_vain_gets_nothing_in_the_end(queues: RunQueues, clock: Clock) -> None:
    began = clock.now()

    assert receive(queues, wait_ms=1_000) == []

    assert 1_000 <= clock.now() - began < 1_000 + busy_ms(clock)


def test_who_does_not_wait_gets_nothing_at_once(queues: RunQueues, clock: Clock) -> None:
    took = []
    for _ in range(5):  # the quickest counts: a busy machine delays some of them
        began = clock.now()
        assert receive(queues) == []
        took.append(clock.now() - began)

    assert min(took) < 900


@pytest.mark.parametrize(
    "garbage",
    ["not json", "[1]", "null", '{"run":"job_a"}', '{"run":"a","generation":"g","fire_at":1,"priority":"TOP"}'],
)
def test_what_is_no_message_of_ours_is_told_and_not_returned(
    inbox: Inbox, clock: Clock, soon: Deadline, caplog: pytest.LogCaptureFixture, garbage: str
) -> None:
    inbox.back_door.post(DEFAULT_POOL, MEDIUM, garbage)
    message = a_message(clock)
    inbox.queues.send([message], soon)

    assert [one.message for one in receive(inbox.queues)] == [message]

    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == ["unreadable_message"]
    assert garbage not in caplog.text


@pytest.mark.stored_queues
def test_what_is_no_message_of_ours_becomes_a_dead_letter(inbox: Inbox) -> None:
    inbox.back_door.post(DEFAULT_POOL, MEDIUM, "not json")
    for _ in range(MAX_RECEIVES):
        assert receive(inbox.queues, visibility_ms=0) == []

    assert receive(inbox.queues, visibility_ms=0) == []
    assert inbox.dead_letters(DEFAULT_POOL, MEDIUM) == 1


def test_deleting_a_message_twice_is_fine(queues: RunQueues, clock: Clock, soon: Deadline) -> None:
    queues.send([a_message(clock)], soon)
    [received] = receive(queues, visibility_ms=0)

    queues.delete(received)
    queues.delete(received)

    assert receive(queues) == []


def test_a_message_delivered_to_somebody_else_is_not_deleted(queues: RunQueues, clock: Clock, soon: Deadline) -> None:
    queues.send([a_message(clock)], soon)
    [stale] = receive(queues, visibility_ms=0)
    [theirs] = receive(queues, visibility_ms=0)

    queues.delete(stale)

    assert [one.message for one in receive(queues)] == [theirs.message]


def test_a_pool_may_have_one_queue_for_all_priorities(ministack: Clients) -> None:
    kit = MiniStackKit(ministack)
    url = kit.queues()[0]._queue_urls[queue_key(DEFAULT_POOL, Priority.HIGH)]
    queues = SqsRunQueues(ministack.sqs, None, {queue_key("long", each): url for each in PRIORITIES}, kit.clock)
    messages = [replace(a_message(kit.clock, run_id=f"job_{p}"), priority=p, pool="long") for p in PRIORITIES]
    queues.send(messages, Deadline.after(kit.clock.now(), 5_000))

    received = queues.receive("long", Priority.HIGH, 10, visibility_ms=VISIBILITY_SECONDS * 1000)

    assert {one.message.priority for one in received} == set(PRIORITIES)
    queues.hide(received[0], 0)
    for one in received[1:]:
        queues.delete(one)
    left = queues.receive("long", Priority.LOW, 10, visibility_ms=VISIBILITY_SECONDS * 1000)
    assert [one.message for one in left] == [received[0].message]
    kit.let_pass(VISIBILITY_SECONDS)
    assert queues.visible("long", Priority.MEDIUM) == 1
