"""Sets in records, and the moves between parents and children, on both engines."""

from concurrent.futures import ThreadPoolExecutor

from onthedot.core import lifecycle
from onthedot.core.choices import OnParentFailure
from onthedot.core.listing import failed_under
from onthedot.core.ports import Clock, Moved, Refused, RunStore
from onthedot.core.records import Record, Status
from onthedot.workflows import dependencies
from tests.builders import DEPLOYMENT, a_run, the_start_of

PARENTS = [f"job_parent{n}" for n in range(12)]


def a_child(store: RunStore, clock: Clock, parents: list[str] = PARENTS) -> Record:
    run = a_run(clock).build()
    child = dependencies.waiting(run, parents, OnParentFailure.FAIL, clock.now(), DEPLOYMENT)
    assert store.create(child) is None
    return child


def moved(outcome: Moved | Refused) -> Record:
    assert isinstance(outcome, Moved)
    assert outcome.run is not None
    return outcome.run


def test_a_waiting_child_comes_back_as_it_was_stored(store: RunStore, clock: Clock) -> None:
    child = a_child(store, clock)
    assert store.get(child.run_id) == child
    assert (child.waits_for, child.parents) == (frozenset(PARENTS), tuple(PARENTS))


def test_each_parent_leaves_once_and_the_last_one_leaves_nothing(store: RunStore, clock: Clock) -> None:
    child = a_child(store, clock, PARENTS[:2])
    first = moved(store.move(dependencies.remove_parent(child.run_id, PARENTS[0])))
    assert first.waits_for == {PARENTS[1]}
    again = moved(store.move(dependencies.remove_parent(child.run_id, PARENTS[0])))
    assert again.waits_for == {PARENTS[1]}, "told twice, it changes nothing"
    last = moved(store.move(dependencies.remove_parent(child.run_id, PARENTS[1])))
    assert last.waits_for == frozenset()
    empty = moved(store.move(dependencies.remove_parent(child.run_id, PARENTS[1])))
    assert empty.waits_for == frozenset()


def test_of_many_parents_that_end_at_the_same_moment_one_sees_the_empty_set(store: RunStore, clock: Clock) -> None:
    child = a_child(store, clock)
    with ThreadPoolExecutor(6) as pool:
        ends = pool.map(lambda p: store.move(dependencies.remove_parent(child.run_id, p)), PARENTS)
    assert sum(not moved(end).waits_for for end in ends) == 1


def test_a_child_is_added_only_while_there_is_room_however_old_the_read_was(store: RunStore, clock: Clock) -> None:
    children = [f"job_{n}" for n in range(dependencies.MOST_CHILDREN - 3)]
    parent = a_run(clock).dispatched().having(children=frozenset(children)).stored_in(store)
    first = moved(store.move(dependencies.link_child(parent, "job_first")))
    assert isinstance(store.move(dependencies.link_child(parent, "job_second")), Refused), "the first child was added"
    for child in ("job_second", "job_last"):
        moved(store.move(dependencies.link_child(first, child)))
    refused = store.move(dependencies.link_child(first, "job_one_too_many"))
    assert isinstance(refused, Refused)
    assert refused.current is not None
    assert len(refused.current.children) == dependencies.MOST_CHILDREN
    assert not dependencies.needs_link(refused.current, "job_one_too_many")


def test_children_are_added_one_by_one_and_whoever_ends_the_parent_must_know_them(
    store: RunStore, clock: Clock
) -> None:
    parent = a_run(clock).dispatched().stored_in(store)
    running = moved(store.move(the_start_of(parent, clock.now())))
    known = running
    for child in ("job_a", "job_b", "job_a"):
        known = moved(store.move(dependencies.link_child(known, child)))
    refused = store.move(lifecycle.succeed(running, clock.now(), None, DEPLOYMENT))
    assert isinstance(refused, Refused), "it did not know of its children"
    assert refused.current is not None
    assert (refused.current.children, refused.current.dependents) == (frozenset({"job_a", "job_b"}), 3)
    ended = moved(store.move(lifecycle.succeed(refused.current, clock.now(), None, DEPLOYMENT)))
    assert (ended.status, ended.notify_pending, ended.expires_at) == (Status.SUCCEEDED, 1, None)
    assert ended.slot is not None
    assert [entry.run_id for entry in store.read_slot(ended.slot).items] == [parent.run_id]
    closed = moved(store.move(dependencies.all_notified(ended, clock.now(), DEPLOYMENT)))
    assert (closed.slot, closed.notify_pending) == (None, None)
    assert closed.expires_at is not None
    assert isinstance(store.move(dependencies.all_notified(ended, clock.now(), DEPLOYMENT)), Refused)


def test_a_child_is_let_go_once(store: RunStore, clock: Clock) -> None:
    child = a_child(store, clock, PARENTS[:1])
    free = moved(store.move(dependencies.remove_parent(child.run_id, PARENTS[0])))
    first = store.move(dependencies.schedule(free, clock.now(), generation="one", deployment=DEPLOYMENT))
    second = store.move(dependencies.schedule(free, clock.now(), generation="two", deployment=DEPLOYMENT))
    assert moved(first).status is Status.DISPATCHED
    assert isinstance(second, Refused)
    assert second.current is not None
    assert second.current.generation == "one"


def test_a_child_that_gives_up_is_a_dead_letter_and_waits_for_nobody(store: RunStore, clock: Clock) -> None:
    child = a_child(store, clock, PARENTS[:3])
    ended = moved(store.move(dependencies.end_by_policy(child, None, PARENTS[0], clock.now(), DEPLOYMENT)))
    under = failed_under(child.tenant, child.run_id)
    assert (ended.status, ended.waits_for, ended.failed_under) == (Status.FAILED, frozenset(), under)
    assert PARENTS[0] in (ended.reason or "")
