"""The changes of a job in its record: short, bounded, and readable though one of them is damaged."""

import string
from dataclasses import replace

import pytest

from onthedot.core.moves import Expect, Move, applied
from onthedot.core.records import Record, Status
from onthedot.jobs.change_log import MOST_CHANGES, ChangeAction, ChangeNote, changes_of, created_by, noted, read_notes
from onthedot.jobs.spec import LETTERS
from tests.builders import NOON, VirtualClock, a_run


def changed(job: Record, note: ChangeNote) -> Record:
    version = (job.version or 1) + 1
    move = Move(job.run_id, Expect(frozenset({Status.PENDING})), Status.PENDING, {"version": version})
    return applied(job, noted(job, move, note))


@pytest.fixture
def job() -> Record:
    return a_run(VirtualClock()).pending().build()


def test_each_field_that_a_client_can_change_has_a_letter_of_its_own() -> None:
    assert len(set(LETTERS.values())) == len(LETTERS)
    assert set(LETTERS.values()) <= set(string.ascii_letters)


def test_changes_are_read_as_they_were_noted_the_newest_first(job: Record) -> None:
    notes = [
        ChangeNote(NOON + 1, ChangeAction.PAUSE, "ops", (), 2),
        ChangeNote(NOON + 2, ChangeAction.CHANGE, "Zoë; of, ops", ("cron", "timezone"), 3),
        ChangeNote(NOON + 3, ChangeAction.RESUME, None, (), 4),
        ChangeNote(NOON + 4, ChangeAction.CANCEL, "ops", (), 5),
    ]
    for note in notes:
        job = changed(job, note)
    assert changes_of(job) == [*notes[::-1], ChangeNote(job.created_at, ChangeAction.CREATE)]


def test_the_latest_twenty_are_kept_in_half_a_kilobyte(job: Record) -> None:
    for number in range(40):
        fields = ("cron", "timezone", "payload")
        job = changed(job, ChangeNote(NOON + number, ChangeAction.CHANGE, f"deploy-{number % 3}", fields))
    kept = changes_of(job)
    assert [note.version for note in kept] == list(range(41, 41 - MOST_CHANGES, -1))
    assert job.changes is not None
    assert len(job.changes.encode()) < 512


def test_a_job_that_was_never_changed_stores_nothing_and_shows_its_creation(job: Record) -> None:
    assert job.changes is None
    assert [note.action for note in changes_of(job)] == [ChangeAction.CREATE]


def test_the_client_that_made_a_job_is_shown_until_twenty_changes_follow(job: Record) -> None:
    job = replace(job, changes=created_by("alice"))
    assert changes_of(job) == [ChangeNote(job.created_at, ChangeAction.CREATE, "alice")]
    for number in range(MOST_CHANGES):
        assert changes_of(job)[-1].by == "alice"
        job = changed(job, ChangeNote(NOON + number, ChangeAction.PAUSE, "ops"))
    assert {note.action for note in changes_of(job)} == {ChangeAction.PAUSE}
    assert created_by(None) is None


@pytest.mark.parametrize("damaged", ["", ";;", "zz,1,p0,", "19c,1,p9,", "19c,1,?-,", "19c,1", "\n\n", "19c,x,p-,n"])
def test_a_damaged_note_hides_no_other(damaged: str) -> None:
    good = "19c8f0a1b2c,5,p-,"
    text = f"{damaged};{good}" if "\n" not in damaged else f"{good}{damaged}"
    assert [note.version for note in read_notes(text)] == [5]


def test_a_letter_of_a_newer_version_is_left_out() -> None:
    assert read_notes("19c8f0a1b2c,5,c-,nQt")[0].fields == ("name", "tags")
