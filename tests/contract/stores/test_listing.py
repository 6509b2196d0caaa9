"""The listing index: the jobs of one partition, with the facts that no run changes."""

from dataclasses import replace
from typing import Any

import pytest

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.listing import JobFacts, listing_partitions
from onthedot.core.ports import Clock, ListEntry, Moved, RunStore
from onthedot.core.records import Definition, Kind, Record
from onthedot.jobs import changes
from onthedot.jobs.changes import JobChange
from onthedot.jobs.facts import FactFilter, facts_of
from onthedot.targets.types import HttpTarget
from tests.builders import DEPLOYMENT, a_run, the_start_of
from tests.contract.kits.kit import Kit

UNDER = "acme#3"
HOOK = HttpTarget("http://127.0.0.1:9/callback")


def a_job(store: RunStore, clock: Clock, *, at: int = 0, tags: dict[str, str] | None = None, **fields: Any) -> Record:
    definition = Definition(HOOK, name=fields.pop("name", None), tags=tags or {})
    created = {"listed_under": UNDER, "created_at": clock.now() + at, "definition": definition, **fields}
    return a_run(clock).due_in(400).having(**created).stored_in(store)


def every_page(store: RunStore, limit: int, partition: str = UNDER) -> list[list[ListEntry]]:
    pages: list[list[ListEntry]] = []
    after, has_more = None, True
    while has_more:
        entries, has_more = store.listed(partition, limit, after)
        pages.append(entries)
        after = (entries[-1].created_at, entries[-1].run_id) if entries else after
        assert len(pages) < 50, "it never ends"
    return pages


def ids(store: RunStore, partition: str = UNDER) -> list[str]:
    return [entry.run_id for entry in store.listed(partition, 100)[0]]


def test_an_empty_partition_has_no_entries(store: RunStore) -> None:
    assert store.listed(UNDER, 10) == ([], False)


def test_an_entry_has_the_facts_of_its_job(store: RunStore, clock: Clock) -> None:
    job = a_job(store, clock, name="käse", tags={"team": "a#=b"}, priority=Priority.LOW, workflow="job_w")
    plain = a_job(store, clock, at=1)

    entries, _ = store.listed(UNDER, 10)

    assert entries == [
        ListEntry(plain.run_id, plain.created_at, JobFacts(Kind.ONE_OFF, Priority.MEDIUM)),
        ListEntry(job.run_id, job.created_at, facts_of(job)),
    ]
    assert facts_of(job) == JobFacts(Kind.ONE_OFF, Priority.LOW, "job_w", "käse", {"team": "a#=b"})


def test_an_entry_tells_a_workflow_from_its_jobs(store: RunStore, clock: Clock) -> None:
    whole = a_run(clock).due_in(400).having(listed_under=UNDER, definition=Definition(HOOK)).build()
    whole = replace(whole, workflow=whole.run_id)
    assert store.create(whole) is None
    part = a_job(store, clock, workflow=whole.run_id)

    found = {entry.run_id: entry.facts for entry in store.listed(UNDER, 10)[0]}

    assert found == {whole.run_id: facts_of(whole), part.run_id: facts_of(part)}
    assert [FactFilter(is_workflow=True).passes(facts_of(job)) for job in (whole, part)] == [True, False]


def test_jobs_of_a_batch_have_facts_too(store: RunStore, clock: Clock, soon: Any) -> None:
    definition = Definition(HOOK, name="b")
    jobs = [a_run(clock).due_in(400).having(listed_under=UNDER, definition=definition).build() for _ in range(3)]
    store.create_many(jobs, soon)

    assert {entry.run_id: entry.facts for entry in store.listed(UNDER, 10)[0]} == {
        job.run_id: facts_of(job) for job in jobs
    }


def test_only_jobs_of_the_partition_are_listed(store: RunStore, clock: Clock) -> None:
    job = a_job(store, clock)
    a_job(store, clock, listed_under="acme#4")
    a_job(store, clock, listed_under=None)

    assert ids(store) == [job.run_id]


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_pages_follow_each_other_the_latest_first(store: RunStore, clock: Clock, limit: int) -> None:
    """Also when several jobs were made in the same millisecond."""
    jobs = [a_job(store, clock, at=number // 3) for number in range(11)]

    pages = every_page(store, limit)

    assert all(len(page) <= limit for page in pages)
    shown = [entry for page in pages for entry in page]
    assert sorted(entry.run_id for entry in shown) == sorted(job.run_id for job in jobs)
    times = [entry.created_at for entry in shown]
    assert times == sorted(times, reverse=True)


def test_a_page_goes_on_behind_a_job_that_was_deleted_meanwhile(store: RunStore, clock: Clock) -> None:
    jobs = [a_job(store, clock, at=number) for number in range(4)]
    [last], _ = store.listed(UNDER, 1)
    store.move(lifecycle.delete(jobs[3], clock.now(), "tomb", DEPLOYMENT))

    rest, _ = store.listed(UNDER, 10, (last.created_at, last.run_id))

    assert [entry.run_id for entry in rest] == [job.run_id for job in (jobs[2], jobs[1], jobs[0])]
    assert ids(store) == [job.run_id for job in (jobs[2], jobs[1], jobs[0])]


def test_a_run_changes_no_fact(store: RunStore, clock: Clock) -> None:
    job = a_run(clock).due_in(0).dispatched().having(listed_under=UNDER).stored_in(store)
    before = store.listed(UNDER, 10)
    started = store.move(the_start_of(job, clock.now()))
    assert isinstance(started, Moved)
    assert started.run is not None
    store.move(lifecycle.succeed(started.run, clock.now(), "fine", DEPLOYMENT))

    assert store.listed(UNDER, 10) == before


def changed(store: RunStore, clock: Clock, job: Record, definition: Definition) -> JobFacts | None:
    move = changes.change(job, JobChange(definition=definition, priority=Priority.HIGH), clock.now(), DEPLOYMENT)
    assert isinstance(store.move(move), Moved)
    [entry], _ = store.listed(UNDER, 10)
    return entry.facts


def test_a_change_of_the_job_changes_its_facts(store: RunStore, clock: Clock) -> None:
    job = a_job(store, clock, name="old", tags={"team": "a"})

    assert changed(store, clock, job, Definition(HOOK, name="new")) == JobFacts(Kind.ONE_OFF, Priority.HIGH, name="new")


def test_long_tags_are_in_the_record_at_the_least(store: RunStore, clock: Clock) -> None:
    """The index of DynamoDB does not show long ones. A change to them must not leave the old ones there."""
    tags = {f"key {number}": "x" * 200 for number in range(20)}
    long = Definition(HOOK, name="long", tags=tags)
    job = a_job(store, clock, name="short")

    facts = changed(store, clock, job, long)

    expected = replace(facts_of(replace(job, definition=long)), priority=Priority.HIGH)
    assert facts in (None, expected)


@pytest.mark.parametrize("fields", [{"label": None}, {"format": 99}, {"label": "[]"}, {"label": "no JSON"}])
def test_a_job_of_another_version_is_listed_without_facts(kit: Kit, fields: dict[str, str | int | None]) -> None:
    store = kit.store()
    job = a_job(store, kit.clock, name="a")
    if type(kit).__name__ == "SqliteKit":
        fields = {"definition": "no JSON"} if "label" in fields else fields
    kit.damage(job.run_id, fields)

    assert store.listed(UNDER, 10) == ([ListEntry(job.run_id, job.created_at, None)], False)


def test_partitions_of_two_tenants_differ_whatever_their_names() -> None:
    names = ["a", "a#1", "a#r1", "a#r", "a#", "r1", "", "a#1#2"]
    partitions = [partition for name in names for partition in listing_partitions(name)]

    assert len(set(partitions)) == len(partitions)
