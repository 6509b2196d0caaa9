"""Counters of ended runs: each end is counted once, for its tenant, minute and priority."""

from dataclasses import replace

import pytest

from localstack.write_units import counted_units
from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.clock import SystemClock
from onthedot.core.lifecycle import Failure
from onthedot.core.moves import Expect, Move
from onthedot.core.ports import Deadline, Moved, RunStore
from onthedot.core.records import Kind, Record, Status
from onthedot.core.schema import statistics_key
from onthedot.statistics.counters import BOUNDS_MS, OUTCOMES, Counters, EndedRun, PlacedEnd, added
from tests.builders import DEPLOYMENT, a_run, the_start_of
from tests.contract.kits.kit import Kit
from tests.contract.kits.ministack_kit import Clients, MiniStackKit

MINUTE = SystemClock().now() // 60_000


class Counting:
    """A store whose changes are counted as they happen."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.store: RunStore = kit.store()

    def create(self, run: Record) -> Record:
        assert self.store.create(run) is None
        self.kit.count(None, run)
        return run

    def move(self, old: Record, move: Move) -> Record:
        outcome = self.store.move(move)
        assert isinstance(outcome, Moved)
        assert outcome.run is not None
        self.kit.count(old, outcome.run)
        return outcome.run

    def started(self, **fields: object) -> Record:
        run = self.create(a_run(self.kit.clock).dispatched().having(**fields).build())
        return self.move(run, the_start_of(run, self.kit.clock.now()))

    def read(self, tenant: str = "acme", priority: Priority | None = None) -> Counters:
        minute = self.kit.clock.now() // 60_000
        found = self.kit.stores.statistics.read(tenant, minute - 5, minute + 1)
        return added(one.counters for one in found if priority in (None, one.priority))


@pytest.fixture
def counting(kit: Kit) -> Counting:
    return Counting(kit)


def test_a_tenant_without_ends_has_no_counters(counting: Counting) -> None:
    counting.started()
    assert counting.kit.stores.statistics.read("acme", 0, 10**9) == []


def test_each_outcome_is_counted_once(counting: Counting) -> None:
    now = counting.kit.clock.now()
    run = counting.started()
    counting.move(run, lifecycle.succeed(run, now, None, DEPLOYMENT))
    failing = counting.started(priority=Priority.LOW)
    counting.move(failing, lifecycle.fail(failing, now, failure=Failure("e"), why="w", deployment=DEPLOYMENT))
    skipped = counting.create(a_run(counting.kit.clock).dispatched().build())
    counting.move(skipped, lifecycle.skip(skipped.run_id, skipped.generation, now, "overlap: x", DEPLOYMENT))
    found = counting.read()
    assert (found.succeeded, found.failed, found.skipped, found.cancelled) == (1, 1, 1, 0)
    assert sum(found.counts) == 2
    assert counting.read(priority=Priority.LOW).failed == 1
    assert counting.read(priority=Priority.HIGH).ended == 0


def test_a_move_that_is_refused_is_not_counted(counting: Counting) -> None:
    run = counting.started()
    end = lifecycle.succeed(run, counting.kit.clock.now(), None, DEPLOYMENT)
    counting.move(run, end)
    assert not isinstance(counting.store.move(end), Moved)
    assert counting.read().succeeded == 1


def test_later_writes_of_an_ended_run_are_not_counted(counting: Counting) -> None:
    now = counting.kit.clock.now()
    run = counting.started()
    failed = counting.move(run, lifecycle.fail(run, now, failure=Failure("e"), why="w", deployment=DEPLOYMENT))
    same = Move(failed.run_id, Expect(frozenset({Status.FAILED})), Status.FAILED, {"reason": "told"})
    written = counting.move(failed, same)
    counting.move(written, lifecycle.delete(written, now, "g", DEPLOYMENT))
    assert (counting.read().failed, counting.read().ended, sum(counting.read().counts)) == (1, 1, 1)


def test_a_run_that_is_redriven_and_ends_again_is_counted_again(counting: Counting) -> None:
    now = counting.kit.clock.now()
    run = counting.started()
    failed = counting.move(run, lifecycle.fail(run, now, failure=Failure("e"), why="w", deployment=DEPLOYMENT))
    again = counting.move(failed, lifecycle.redrive(failed, now, now, generation="g", deployment=DEPLOYMENT))
    running = counting.move(again, the_start_of(again, now))
    counting.move(running, lifecycle.succeed(running, now, None, DEPLOYMENT))
    found = counting.read()
    assert (found.failed, found.succeeded) == (1, 1)


def test_a_skipped_range_counts_its_times_and_grows(counting: Counting) -> None:
    now = counting.kit.clock.now()
    run = a_run(counting.kit.clock).build()
    skipped = replace(
        run,
        run_id=f"{run.run_id}.000001767225600",
        kind=Kind.SKIPPED_RANGE,
        status=Status.SKIPPED,
        slot=None,
        skipped_until=now,
        skipped_count=5,
        finished_at=now,
    )
    counting.create(skipped)
    grown = counting.move(skipped, lifecycle.resize_range(skipped, now + 1, 7))
    counting.move(grown, lifecycle.resize_range(grown, now, 2))
    assert counting.read() == Counters(skipped=7)


def test_an_imported_record_is_not_counted(counting: Counting) -> None:
    run = a_run(counting.kit.clock).having(revision=4, finished_at=counting.kit.clock.now()).build()
    counting.create(replace(run, status=Status.SUCCEEDED, slot=None))
    assert counting.read() == Counters()


def test_each_tenant_has_counters_of_its_own(counting: Counting) -> None:
    now = counting.kit.clock.now()
    for tenant in ("acme", "acme#1", "onthedot"):
        run = counting.started(tenant=tenant)
        counting.move(run, lifecycle.succeed(run, now, None, DEPLOYMENT))
    assert [counting.read(tenant).succeeded for tenant in ("acme", "acme#1", "onthedot", "acm")] == [1, 1, 1, 0]


def test_the_counters_of_a_tenant_are_deleted_with_it(counting: Counting) -> None:
    now = counting.kit.clock.now()
    for tenant in ("acme", "other"):
        run = counting.started(tenant=tenant)
        counting.move(run, lifecycle.succeed(run, now, None, DEPLOYMENT))
    data = counting.kit.tenant_data(counting.kit.blobs())
    _, cursor = data.delete_page("acme")
    while cursor is not None:
        _, cursor = data.delete_page("acme", cursor)
    assert (counting.read().ended, counting.read("other").ended) == (0, 1)


def test_counters_are_not_exported(counting: Counting) -> None:
    run = counting.started()
    counting.move(run, lifecycle.succeed(run, counting.kit.clock.now(), None, DEPLOYMENT))
    entries = counting.kit.stored_entries()
    page = entries.page(100)
    assert [one.entry.id for one in page.items] == [run.run_id]


def test_many_moves_at_once_are_counted(counting: Counting) -> None:
    now = counting.kit.clock.now()
    runs = [counting.started() for _ in range(5)]
    moves = [lifecycle.succeed(run, now, None, DEPLOYMENT) for run in runs]
    outcomes = counting.store.move_many(moves, Deadline.after(now, 30_000))
    for old, outcome in zip(runs, outcomes, strict=True):
        assert isinstance(outcome, Moved)
        counting.kit.count(old, counting.store.get(old.run_id))
    assert counting.read().succeeded == 5


# The consumer of the stream: only the aws engine has one.


def ends(*positions: int) -> list[PlacedEnd]:
    return [
        PlacedEnd(position, EndedRun("acme", MINUTE, Priority.HIGH, "succeeded", lateness_ms=position))
        for position in positions
    ]


def counters_of(kit: MiniStackKit) -> Counters:
    return added(one.counters for one in kit.stores.statistics.read("acme", MINUTE, MINUTE + 1))


def test_a_batch_that_is_delivered_again_is_not_counted_again(clients: Clients) -> None:
    kit = MiniStackKit(clients)
    for _ in range(3):
        kit.counter().add("shard-1", ends(101, 102, 105))
    assert (counters_of(kit).succeeded, counters_of(kit).max_ms) == (3, 105)


def test_of_a_batch_that_begins_earlier_only_the_new_ends_are_counted(clients: Clients) -> None:
    kit = MiniStackKit(clients)
    kit.counter().add("shard-1", ends(101, 102, 105))
    kit.counter().add("shard-1", ends(102, 105, 106, 109))
    kit.counter().add("shard-1", ends(101))
    assert (counters_of(kit).succeeded, counters_of(kit).max_ms) == (5, 109)


def test_positions_of_one_shard_say_nothing_about_another(clients: Clients) -> None:
    kit = MiniStackKit(clients)
    kit.counter().add("shard-1", ends(10**39))
    kit.counter().add("shard-2", ends(9, 50))
    kit.counter().add("shard-2", ends(50))
    assert counters_of(kit).succeeded == 3


def test_positions_compare_as_numbers(clients: Clients) -> None:
    kit = MiniStackKit(clients)
    kit.counter().add("shard-1", ends(99))
    kit.counter().add("shard-1", ends(100))
    assert counters_of(kit).succeeded == 2


def test_a_smaller_lateness_that_comes_later_leaves_the_largest(clients: Clients) -> None:
    kit = MiniStackKit(clients)
    kit.counter().add("shard-1", ends(500))
    kit.counter().add("shard-2", ends(7, 400))
    kit.counter().add("shard-2", ends(900))
    assert (counters_of(kit).succeeded, counters_of(kit).max_ms) == (4, 900)


def test_counters_expire_after_35_days(clients: Clients) -> None:
    kit = MiniStackKit(clients)
    kit.counter().add("shard-1", ends(1))
    item = kit.items().get(statistics_key("acme", MINUTE))
    assert item is not None
    assert item.values["expires_at"] == MINUTE * 60 + 35 * 86_400


def a_batch_of(number: int, first: int, priorities: tuple[Priority, ...]) -> list[PlacedEnd]:
    """Ends of one tenant and minute with all kinds of lateness: the largest item that a minute makes."""
    return [
        PlacedEnd(
            first + place,
            EndedRun(
                "acme",
                MINUTE,
                priorities[place % len(priorities)],
                OUTCOMES[place % 7 % 4],
                retries=place % 3,
                lost=place % 2,
                lateness_ms=BOUNDS_MS[place % len(BOUNDS_MS)],
            ),
        )
        for place in range(number)
    ]


def test_statistics_cost_a_tenth_of_a_write_unit_for_each_run_of_a_batch_at_most(clients: Clients) -> None:
    """Twelve batches of a minute, from two shards by turns, with 100 ends each of all priorities."""
    kit = MiniStackKit(clients)
    with counted_units(clients.dynamodb) as units:
        for batch in range(12):
            kit.counter().add(f"shardId-0000{batch % 2}", a_batch_of(100, 1_000 * (batch + 1), tuple(Priority)))
    assert counters_of(kit).ended == 1_200
    assert sum(units) / 1_200 <= 0.1
    # All ends of a quiet minute cost one write.
    quiet = MiniStackKit(clients)
    with counted_units(clients.dynamodb) as units:
        quiet.counter().add("shardId-00001", ends(*range(1, 101)))
    assert units == [1]
