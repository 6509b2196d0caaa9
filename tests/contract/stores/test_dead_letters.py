"""Dead letters: the runs of a tenant that failed for good, and those alone."""

import pytest

from onthedot.core import lifecycle
from onthedot.core.ids import fresh_job_id
from onthedot.core.lifecycle import Failure
from onthedot.core.listing import ALWAYS, PARTITIONS, Window, failed_under
from onthedot.core.ports import Clock, Moved, RunStore
from onthedot.core.records import Record
from tests.builders import DEPLOYMENT, a_run, the_start_of


def moved(outcome: object) -> Record:
    assert isinstance(outcome, Moved)
    assert outcome.run is not None
    return outcome.run


def a_started_run(store: RunStore, clock: Clock, tenant: str = "acme", run_id: str | None = None) -> Record:
    run_id = run_id or fresh_job_id()
    run = a_run(clock).in_tenant(tenant).due_in(0).dispatched().having(run_id=run_id, job_id=run_id).stored_in(store)
    return moved(store.move(the_start_of(run, clock.now())))


def a_dead_letter(
    store: RunStore, clock: Clock, *, tenant: str = "acme", at: int | None = None, run_id: str | None = None
) -> Record:
    running = a_started_run(store, clock, tenant, run_id)
    failure = Failure("HTTP 410", "http_410")
    ended = lifecycle.fail(
        running, clock.now() if at is None else at, failure=failure, why="HTTP 410", deployment=DEPLOYMENT
    )
    return moved(store.move(ended))


def every_page(store: RunStore, tenant: str, limit: int, window: Window = ALWAYS) -> list[list[Record]]:
    pages, cursor = [], None
    while True:
        page = store.failed(tenant, limit, cursor, window)
        pages.append(list(page.items))
        cursor = page.cursor
        if cursor is None:
            return pages
        assert len(pages) < 50, "it never ends"


def test_without_failures_there_are_no_dead_letters(store: RunStore, clock: Clock) -> None:
    a_run(clock).stored_in(store)
    done = a_started_run(store, clock)
    store.move(lifecycle.succeed(done, clock.now(), "fine", DEPLOYMENT))

    page = store.failed("acme", 10)

    assert (list(page.items), page.cursor) == ([], None)


def test_a_failed_run_is_a_dead_letter_with_its_cause(store: RunStore, clock: Clock) -> None:
    dead = a_dead_letter(store, clock)

    [found] = store.failed("acme", 10).items

    assert found == dead
    assert (found.reason, found.attempts[-1].error_class) == ("HTTP 410", "http_410")


def test_the_latest_comes_first_whatever_the_order_of_their_ids(store: RunStore, clock: Clock) -> None:
    now = clock.now()
    dead = {at: a_dead_letter(store, clock, at=now + at) for at in (30, 10, 50, 20, 40)}

    shown = store.failed("acme", 10).items

    assert [run.run_id for run in shown] == [dead[at].run_id for at in (50, 40, 30, 20, 10)]


def test_tenants_see_their_own_alone(store: RunStore, clock: Clock) -> None:
    ours, theirs = a_dead_letter(store, clock), a_dead_letter(store, clock, tenant="globex")

    assert [run.run_id for run in store.failed("acme", 10).items] == [ours.run_id]
    assert [run.run_id for run in store.failed("globex", 10).items] == [theirs.run_id]


def test_pages_follow_each_other_without_gap_or_overlap(store: RunStore, clock: Clock) -> None:
    now = clock.now()
    # Two end in the same millisecond each time, which must not fall between two pages.
    dead = [a_dead_letter(store, clock, at=now + number // 2) for number in range(11)]

    pages = every_page(store, "acme", 3)

    assert all(len(page) <= 3 for page in pages)
    shown = [run for page in pages for run in page]
    assert sorted(run.run_id for run in shown) == sorted(run.run_id for run in dead)
    ended = [run.finished_at or 0 for run in shown]
    assert ended == sorted(ended, reverse=True)


@pytest.mark.parametrize("limit", [1, 3, 20])
def test_a_window_has_its_first_time_and_not_its_end(store: RunStore, clock: Clock, limit: int) -> None:
    now = clock.now()
    dead = [a_dead_letter(store, clock, at=now + number // 2) for number in range(10)]

    shown = [run for page in every_page(store, "acme", limit, Window(now + 1, now + 4)) for run in page]

    assert sorted(run.run_id for run in shown) == sorted(run.run_id for run in dead[2:8])
    assert [run.finished_at for run in shown] == [now + 3, now + 3, now + 2, now + 2, now + 1, now + 1]


@pytest.mark.parametrize(("since", "until"), [(5, 5), (9, 5), (10, 100), (-100, 0)])
def test_a_window_without_dead_letters(store: RunStore, clock: Clock, since: int, until: int) -> None:
    now = clock.now()
    a_dead_letter(store, clock, at=now + 5)

    page = store.failed("acme", 10, None, Window(now + since, now + until))

    assert (list(page.items), page.cursor) == ([], None)


def test_more_than_one_batch_of_reads_takes_are_shown(store: RunStore, clock: Clock) -> None:
    dead = {a_dead_letter(store, clock).run_id for _ in range(105)}

    shown = [run.run_id for page in every_page(store, "acme", 104) for run in page]

    assert (len(shown), set(shown)) == (105, dead)


def test_a_redriven_run_is_a_dead_letter_no_more_until_it_fails_again(store: RunStore, clock: Clock) -> None:
    dead, other = a_dead_letter(store, clock), a_dead_letter(store, clock)
    now = clock.now()
    again = moved(store.move(lifecycle.redrive(dead, now, now, generation="g2", deployment=DEPLOYMENT)))

    assert [run.run_id for run in store.failed("acme", 10).items] == [other.run_id]
    running = moved(store.move(the_start_of(again, clock.now())))
    failed = lifecycle.fail(running, clock.now() + 5, failure=Failure("again"), why="again", deployment=DEPLOYMENT)
    store.move(failed)
    assert [(run.run_id, run.reason) for run in store.failed("acme", 10).items] == [
        (dead.run_id, "again"),
        (other.run_id, "HTTP 410"),
    ]


def test_what_the_index_shows_but_is_failed_no_more_is_left_out(store: RunStore, clock: Clock) -> None:
    """As an index shows it that lags behind."""
    dead = a_dead_letter(store, clock)
    a_run(clock).having(failed_under=dead.failed_under, finished_at=clock.now() + 1).stored_in(store)

    assert [run.run_id for run in store.failed("acme", 10).items] == [dead.run_id]


def test_a_deleted_run_is_a_dead_letter_no_more(store: RunStore, clock: Clock) -> None:
    dead = a_dead_letter(store, clock)
    store.move(lifecycle.delete(dead, clock.now(), "tomb", DEPLOYMENT))

    assert list(store.failed("acme", 10).items) == []


def test_a_cursor_is_good_though_what_it_stands_at_was_redriven(store: RunStore, clock: Clock) -> None:
    now = clock.now()
    dead = [a_dead_letter(store, clock, at=now + number) for number in range(4)]
    first = store.failed("acme", 2)
    for run in first.items:
        store.move(lifecycle.redrive(run, now, now, generation="g2", deployment=DEPLOYMENT))

    rest = store.failed("acme", 2, first.cursor)

    assert [run.run_id for run in rest.items] == [dead[1].run_id, dead[0].run_id]


def test_dead_letters_of_a_tenant_are_spread_over_partitions(store: RunStore, clock: Clock) -> None:
    """One partition of an index takes 1,000 writes a second, and a tenant whose target is down fails more runs."""
    dead = [a_dead_letter(store, clock) for _ in range(40)]

    used = {run.failed_under for run in dead}

    assert len(used) > PARTITIONS // 2
    assert used <= {f"acme#{number}" for number in range(PARTITIONS)}


def test_a_tenant_with_the_name_of_a_partition_sees_its_own_alone(store: RunStore, clock: Clock) -> None:
    ours = {a_dead_letter(store, clock).run_id for _ in range(10)}
    tenants = [f"acme#{number}" for number in range(PARTITIONS)]
    theirs = {tenant: a_dead_letter(store, clock, tenant=tenant).run_id for tenant in tenants}

    assert {run.run_id for run in store.failed("acme", 50).items} == ours
    assert {tenant: [run.run_id for run in store.failed(tenant, 50).items] for tenant in tenants} == {
        tenant: [run_id] for tenant, run_id in theirs.items()
    }


@pytest.mark.parametrize("limit", [1, 4, 7])
def test_pages_merge_the_partitions_in_the_order_of_time(store: RunStore, clock: Clock, limit: int) -> None:
    """Also when one partition has most of them, and when many end in the same millisecond."""
    now = clock.now()
    runs = [a_dead_letter(store, clock, at=now + number // 3) for number in range(30)]
    crowded = failed_under("acme", runs[0].run_id)
    ids = [run_id for run_id in (fresh_job_id() for _ in range(400)) if failed_under("acme", run_id) == crowded][:12]
    runs += [a_dead_letter(store, clock, at=now + number, run_id=run_id) for number, run_id in enumerate(ids)]

    pages = every_page(store, "acme", limit)

    shown = [run for page in pages for run in page]
    assert all(len(page) <= limit for page in pages)
    assert sorted(run.run_id for run in shown) == sorted(run.run_id for run in runs)
    ended = [run.finished_at or 0 for run in shown]
    assert ended == sorted(ended, reverse=True)
