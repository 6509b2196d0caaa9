"""Run queues: delays, priorities, visibility, receive counts, dead letters."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from onthedot.core.choices import Priority
from onthedot.core.ports import Clock, Deadline, Received, RunQueues
from onthedot.core.schema import DEFAULT_POOL
from tests.contract.kits.kit import BUSY_MS, MAX_RECEIVES, VISIBILITY_SECONDS, Inbox, a_message, busy_ms

LetPass = Callable[[float], None]


def receive(inbox: Inbox, priority: Priority = Priority.MEDIUM) -> list[Received]:
    return inbox.receive(DEFAULT_POOL, priority)


def receive_one(inbox: Inbox) -> Received:
    [received] = receive(inbox)
    return received


def test_a_due_message_arrives_at_once_as_it_was_sent(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline
) -> None:
    message = replace(a_message(clock, due_in=-5), tenant="globex")

    assert list(queues.send([message], soon)) == []

    received = receive_one(inbox)
    assert (received.message, received.receive_count) == (message, 1)


def test_a_message_has_the_gates_of_its_run(queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline) -> None:
    gated = replace(a_message(clock), gates=("customer:42/é", "stripe"), woken="stripe", start_by=clock.now() + 1)
    queues.send([gated], soon)
    assert receive_one(inbox).message == gated


def test_sending_nothing_is_fine(queues: RunQueues, inbox: Inbox, soon: Deadline) -> None:
    assert list(queues.send([], soon)) == []
    assert receive(inbox) == []


def test_a_delayed_message_is_held_back_then_delivered(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline, let_pass: LetPass
) -> None:
    message = a_message(clock, due_in=4.5)  # on a busy machine, some seconds pass before the looks
    queues.send([message], soon)

    assert receive(inbox) == []
    let_pass(0.5)
    assert receive(inbox) == []
    let_pass(2)
    let_pass(2)
    assert receive_one(inbox).message == message


@pytest.mark.parametrize("due_in", [1.05, 1.95, 2.5])
def test_a_message_comes_in_the_second_before_its_fire_time(
    run_queues: tuple[RunQueues, Inbox], clock: Clock, soon: Deadline, let_pass: LetPass, due_in: float
) -> None:
    queues, inbox = run_queues
    message = a_message(clock, due_in)
    queues.send([message], soon)
    while not (received := receive(inbox)) and clock.now() < message.fire_at + BUSY_MS:
        let_pass(0.05)

    assert [r.message for r in received] == [message]
    assert message.fire_at - 1000 <= clock.now() <= message.fire_at + busy_ms(clock)


def test_a_message_for_much_later_is_accepted_and_held_back(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline
) -> None:
    """The worker that gets it after 900 s gives it back."""
    assert list(queues.send([a_message(clock, due_in=5000)], soon)) == []
    assert receive(inbox) == []


def test_priorities_are_apart(queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline) -> None:
    messages = {p: replace(a_message(clock, run_id=f"job_{p}"), priority=p) for p in Priority}
    queues.send(list(messages.values()), soon)

    assert {p: [r.message for r in receive(inbox, p)] for p in Priority} == {p: [m] for p, m in messages.items()}


def test_more_messages_than_one_call_takes_all_arrive(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline
) -> None:
    sent = {f"job_{number}" for number in range(25)}
    assert list(queues.send([a_message(clock, run_id=run_id) for run_id in sent], soon)) == []

    arrived: list[str] = []
    while batch := receive(inbox):
        assert len(batch) <= 10
        for received in batch:
            arrived.append(received.message.run_id)
            inbox.delete(received)

    assert sorted(arrived) == sorted(sent)


def test_a_received_message_is_hidden_and_comes_again_with_a_count(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline, let_pass: LetPass
) -> None:
    queues.send([a_message(clock)], soon)
    first = receive_one(inbox)
    assert receive(inbox) == []

    let_pass(VISIBILITY_SECONDS)

    again = receive_one(inbox)
    assert (again.message, first.receive_count, again.receive_count) == (first.message, 1, 2)


def test_a_deleted_message_never_comes_again(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline, let_pass: LetPass
) -> None:
    queues.send([a_message(clock)], soon)
    inbox.delete(receive_one(inbox))

    let_pass(VISIBILITY_SECONDS)

    assert receive(inbox) == []


def test_a_message_given_back_comes_again_at_the_asked_time(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline, let_pass: LetPass
) -> None:
    queues.send([a_message(clock)], soon)
    queues.hide(receive_one(inbox), 4000)

    assert receive(inbox) == []
    let_pass(2)
    let_pass(2)
    assert receive_one(inbox).receive_count == 2


def test_a_message_given_back_for_no_time_comes_again_at_once(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline
) -> None:
    queues.send([a_message(clock)], soon)
    queues.hide(receive_one(inbox), 0)

    assert receive_one(inbox).receive_count == 2


def test_a_message_can_be_hidden_for_longer_than_its_visibility(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline, let_pass: LetPass
) -> None:
    queues.send([a_message(clock)], soon)
    queues.hide(receive_one(inbox), 1000 * (VISIBILITY_SECONDS + 10))

    let_pass(VISIBILITY_SECONDS)

    assert receive(inbox) == []


def test_a_message_hidden_for_days_is_hidden_as_long_as_can_be(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline
) -> None:
    queues.send([a_message(clock)], soon)

    queues.hide(receive_one(inbox), 100 * 3_600_000)

    assert receive(inbox) == []


def test_hiding_a_message_that_is_gone_changes_nothing(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline
) -> None:
    queues.send([a_message(clock)], soon)
    received = receive_one(inbox)
    inbox.delete(received)

    queues.hide(received, 0)

    assert receive(inbox) == []


def test_a_message_received_too_often_becomes_a_dead_letter(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline
) -> None:
    queues.send([a_message(clock)], soon)
    for _ in range(MAX_RECEIVES):
        queues.hide(receive_one(inbox), 0)
    assert inbox.dead_letters(DEFAULT_POOL, Priority.MEDIUM) == 0

    assert receive(inbox) == []
    assert inbox.dead_letters(DEFAULT_POOL, Priority.MEDIUM) == 1
    counts = queues.counts(DEFAULT_POOL, Priority.MEDIUM)
    assert (counts.visible, counts.in_flight, counts.dead) == (0, 0, 1)


def test_visible_messages_are_those_that_could_be_received_now(
    queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline
) -> None:
    due = [a_message(clock, run_id=f"job_{number}") for number in range(3)]
    queues.send([*due, a_message(clock, due_in=600)], soon)
    inbox.receive(DEFAULT_POOL, Priority.MEDIUM, 1)

    assert queues.visible(DEFAULT_POOL, Priority.MEDIUM) == 2


def test_an_empty_queue_is_not_behind(queues: RunQueues) -> None:
    assert queues.visible(DEFAULT_POOL, Priority.HIGH) == 0
    assert not queues.oldest_age_ms(DEFAULT_POOL, Priority.HIGH)


def test_messages_are_counted_in_each_state(queues: RunQueues, inbox: Inbox, clock: Clock, soon: Deadline) -> None:
    def counted(priority: Priority = Priority.MEDIUM) -> tuple[int, int, int, int]:
        counts = queues.counts(DEFAULT_POOL, priority)
        return counts.visible, counts.delayed, counts.in_flight, counts.dead

    assert counted() == (0, 0, 0, 0)
    queues.send([a_message(clock), a_message(clock, run_id="job_b"), a_message(clock, 500, "job_c")], soon)
    assert counted() == (2, 1, 0, 0)
    assert len(inbox.receive(DEFAULT_POOL, Priority.MEDIUM, 1)) == 1
    assert counted() == (1, 1, 1, 0)
    assert counted(Priority.HIGH) == (0, 0, 0, 0)
    names = {queues.counts(DEFAULT_POOL, priority).name for priority in Priority}
    assert len(names) == 3
