"""Many records put if absent, and a recurring job's runs read back by time."""

from dataclasses import replace

from onthedot.core.ids import stamped_run_id
from onthedot.core.ports import Clock, Deadline, Moved, Refused, RunStore
from onthedot.core.records import Kind, Record, Status
from tests.builders import a_run


def stamps(clock: Clock, count: int) -> list[Record]:
    job_id = a_run(clock).build().job_id
    runs = [a_run(clock).due_in(n).dispatched().build() for n in range(count)]
    return [
        replace(
            run,
            run_id=stamped_run_id(job_id, run.nominal_at),
            job_id=job_id,
            definition=None,
            kind=Kind.STAMPED,
        )
        for run in runs
    ]


def test_more_than_25_are_stored_at_once_and_found_in_their_slots(
    store: RunStore, clock: Clock, soon: Deadline
) -> None:
    records = stamps(clock, 60)
    assert all(isinstance(outcome, Moved) for outcome in store.create_many(records, soon))
    assert store.get_many([r.run_id for r in records], soon).found == {r.run_id: r for r in records}
    slot = records[0].slot or ""
    assert records[0].run_id in {entry.run_id for entry in store.read_slot(slot).items}


def test_an_id_that_is_taken_is_refused_with_what_stands_there(store: RunStore, clock: Clock, soon: Deadline) -> None:
    first, second, third = stamps(clock, 3)
    store.create(replace(second, status=Status.SKIPPED, slot=None, reason="paused"))
    outcomes = store.create_many([first, second, third], soon)
    assert [type(outcome) for outcome in outcomes] == [Moved, Refused, Moved]
    assert isinstance(outcomes[1], Refused)
    assert outcomes[1].current is not None
    assert outcomes[1].current.reason == "paused"


def test_the_runs_of_a_job_come_latest_first_in_pages(store: RunStore, clock: Clock, soon: Deadline) -> None:
    records = stamps(clock, 7)
    other = stamps(clock, 2)
    job = replace(a_run(clock).build(), run_id=records[0].job_id, job_id=records[0].job_id)
    store.create(job)
    store.create_many([*records, *other], soon)
    first = store.runs_of(job.job_id, 3)
    second = store.runs_of(job.job_id, 3, first.cursor)
    third = store.runs_of(job.job_id, 3, second.cursor)
    assert [*first.items, *second.items, *third.items] == records[::-1]
    assert third.cursor is None


def test_runs_that_are_stamped_ahead_can_be_left_out(store: RunStore, clock: Clock, soon: Deadline) -> None:
    records = stamps(clock, 7)
    store.create_many(records, soon)
    until = records[4].nominal_at
    first = store.runs_of(records[0].job_id, 3, until=until)
    second = store.runs_of(records[0].job_id, 3, first.cursor, until=until)
    assert [*first.items, *second.items] == records[4::-1]
    assert second.cursor is None
    assert list(store.runs_of(records[0].job_id, 3, until=records[0].nominal_at - 1).items) == []


def test_a_job_without_runs_has_an_empty_page(store: RunStore, clock: Clock) -> None:
    assert list(store.runs_of("job_nobody", 5).items) == []
