"""What the world hears of each change of a job or run, and that docs/events.md says the same."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, waiting_slot
from onthedot.core.moves import TRANSITIONS
from onthedot.core.records import TERMINAL, Definition, Kind, Record, Status
from onthedot.events.lifecycle import ENDS, STEPS, LifecycleEvent, event_of
from onthedot.targets.types import HttpTarget
from tests.builders import NOON

DOCS = (Path(__file__).parents[3] / "docs" / "events.md").read_text()
HEADING = re.compile(
    r"^### `(?P<type>[a-z.]+)`(?P<always> \(always\))?$(?P<text>.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL
)
EXAMPLE = re.compile(r"^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
AT = NOON + 1_000
"""The stream's time: whole seconds."""
ONE_OFF = Record(
    run_id="job_a",
    job_id="job_a",
    tenant="acme",
    definition=Definition(HttpTarget("https://example.com"), payload={"secret": 7}, name="report"),
    priority=Priority.MEDIUM,
    pool="default",
    created_at=NOON,
    fire_time=NOON,
    due_at=NOON,
    status=Status.PENDING,
    generation="g",
    version=1,
)
RECURRING = replace(ONE_OFF, run_id="job_r", job_id="job_r", kind=Kind.RECURRING, status=Status.ACTIVE)
STAMPED = replace(RECURRING, run_id="job_r.2026", kind=Kind.STAMPED, definition=None, version=None)
RANGE = replace(
    STAMPED,
    kind=Kind.SKIPPED_RANGE,
    status=Status.SKIPPED,
    reason="missed",
    skipped_until=NOON + 60_000,
    skipped_count=7,
)
NODE = replace(STAMPED, status=Status.WAITING, workflow="job_w")


def change(record: Record, before: Status | None, after: Status, **fields: Any) -> tuple[Record | None, Record]:
    """A record that comes from one status to another, one version later; or that is new."""
    if before is None:
        return None, replace(record, status=after, **fields)
    return replace(record, status=before), replace(record, status=after, revision=record.revision + 1, **fields)


RAN = replace(ONE_OFF, attempt=1, revision=2, started_at=NOON + 500)
OVER = {"finished_at": NOON + 2_000}
S = Status
CHANGES: dict[str, list[tuple[Record | None, Record]]] = {
    "onthedot.run.succeeded": [change(RAN, S.RUNNING, S.SUCCEEDED, **OVER)],
    "onthedot.run.failed": [change(RAN, S.RUNNING, S.FAILED, reason="HTTP 500", **OVER)],
    "onthedot.run.cancelled": [change(ONE_OFF, S.PENDING, S.CANCELLED, reason="cancelled", **OVER)],
    "onthedot.run.skipped": [
        change(STAMPED, S.DISPATCHED, S.SKIPPED, reason="paused", **OVER),
        (None, RANGE),
    ],
    "onthedot.run.waiting": [(None, NODE)],
    "onthedot.run.pending": [change(ONE_OFF, S.WAITING, S.PENDING)],
    "onthedot.run.dispatched": [change(ONE_OFF, S.PENDING, S.DISPATCHED)],
    "onthedot.run.running": [change(ONE_OFF, S.DISPATCHED, S.RUNNING, attempt=1, started_at=NOON + 500)],
    "onthedot.run.retrying": [change(RAN, S.RUNNING, S.PENDING, reason="HTTP 503")],
    "onthedot.job.created": [change(RECURRING, None, S.ACTIVE)],
    "onthedot.job.changed": [change(RECURRING, S.PAUSED, S.ACTIVE)],
    "onthedot.job.paused": [change(RECURRING, S.ACTIVE, S.PAUSED)],
    "onthedot.job.completed": [change(RECURRING, S.ACTIVE, S.COMPLETED)],
    "onthedot.job.cancelled": [change(RECURRING, S.ACTIVE, S.CANCELLED)],
    "onthedot.job.failed": [change(RECURRING, S.WAITING, S.FAILED, reason="parent job_a failed")],
    "onthedot.job.skipped": [change(RECURRING, S.WAITING, S.SKIPPED, reason="parent job_a failed")],
    "onthedot.job.deleted": [change(ONE_OFF, S.PENDING, S.DELETED, **OVER)],
}
DOCUMENTED = {found["type"]: found for found in HEADING.finditer(DOCS)}


def told(old: Record | None, new: Record | None, **options: bool) -> LifecycleEvent | None:
    return event_of(old, new, AT, **options)


def heard(old: Record | None, new: Record | None) -> str | None:
    event = told(old, new, every_change=True)
    return None if event is None else event.detail_type


@pytest.mark.parametrize("detail_type", sorted(CHANGES))
def test_each_change_is_told_as_the_documentation_shows_it(detail_type: str) -> None:
    events = [told(old, new, every_change=True) for old, new in CHANGES[detail_type]]
    examples = [json.loads(example) for example in EXAMPLE.findall(DOCUMENTED[detail_type]["text"])]
    assert events == [LifecycleEvent(detail_type, example) for example in examples]


def test_the_documentation_knows_every_detail_type_and_no_other() -> None:
    assert set(DOCUMENTED) == ENDS | STEPS == set(CHANGES)
    assert {name for name, found in DOCUMENTED.items() if found["always"]} == ENDS


@pytest.mark.parametrize("detail_type", sorted(CHANGES))
def test_only_ends_are_told_unless_the_stage_asks_for_all(detail_type: str) -> None:
    for old, new in CHANGES[detail_type]:
        assert (told(old, new) is not None) == (detail_type in ENDS)


def test_every_field_of_an_event_is_documented() -> None:
    fields = {field for old, new in (c for cs in CHANGES.values() for c in cs) for field in _detail(old, new)}
    assert fields == set(re.findall(r"^\| `([a-z_]+)` \|", DOCS, re.MULTILINE))


def _detail(old: Record | None, new: Record) -> Any:
    event = told(old, new, every_change=True)
    assert event is not None
    return event.detail


def test_contents_are_told_only_where_the_stage_asks_for_them() -> None:
    old, new = change(RAN, S.RUNNING, S.SUCCEEDED, result='{"ok":true}', result_ref=None)
    without, with_results = told(old, new), told(old, new, with_results=True)
    assert without is not None
    assert with_results is not None
    assert "secret" not in json.dumps(without.detail)
    added = {"payload": {"secret": 7}, "payload_ref": None, "result": '{"ok":true}', "result_ref": None}
    assert with_results.detail == {**without.detail, **added}


def test_what_changes_no_state_is_not_told() -> None:
    running = replace(RAN, status=S.RUNNING)
    assert heard(running, replace(running, lease_until=NOON, revision=3)) is None
    advanced = replace(RECURRING, due_at=NOON + 60_000, stamped=1, revision=2)
    assert heard(RECURRING, advanced) is None
    ended = replace(RAN, status=S.SUCCEEDED, notify_pending=1)
    assert heard(ended, replace(ended, notify_pending=None)) is None


def test_a_run_that_waits_at_a_gate_names_it_and_a_reserved_instant_is_not_told() -> None:
    slot = waiting_slot(GateId("acme", "customer", "42"), Priority.MEDIUM, 0)
    event = told(*change(ONE_OFF, Status.DISPATCHED, Status.PENDING, slot=slot), every_change=True)
    assert event is not None
    assert (event.detail_type, event.detail["reason"]) == ("onthedot.run.pending", "waits at gate customer, key 42")
    assert told(*change(ONE_OFF, Status.DISPATCHED, Status.PENDING, slot=slot)) is None, "only on a stage that asks"
    reserved = change(ONE_OFF, Status.DISPATCHED, Status.DISPATCHED, woken="stripe", generation="new")
    assert told(*reserved, every_change=True) is None


def test_a_record_that_expired_is_not_told() -> None:
    assert heard(replace(RAN, status=S.SUCCEEDED), None) is None


def test_a_changed_job_is_told_whether_it_recurs_or_not() -> None:
    for job in (ONE_OFF, RECURRING):
        assert heard(job, replace(job, version=2, revision=2)) == "onthedot.job.changed"


def test_a_new_one_off_job_is_a_new_job_and_a_stamped_run_a_pending_run() -> None:
    assert heard(None, ONE_OFF) == "onthedot.job.created"
    assert heard(None, replace(STAMPED, status=S.PENDING)) == "onthedot.run.pending"


def test_a_range_of_skipped_times_that_grows_is_told_again() -> None:
    grown = replace(RANGE, skipped_count=8, skipped_until=NOON + 120_000, revision=2)
    event = told(RANGE, grown)
    assert event is not None
    assert (event.detail_type, event.detail["version"]) == ("onthedot.run.skipped", 2)
    assert event.detail["skipped"]["count"] == 8


def test_a_redriven_dead_letter_is_tried_again() -> None:
    assert heard(*change(RAN, S.FAILED, S.DISPATCHED)) == "onthedot.run.retrying"


OF_JOBS = frozenset(
    {S.WAITING, S.ACTIVE, S.PAUSED, S.COMPLETED, S.FAILED, S.SKIPPED, S.CANCELLED, S.DELETED},
)
OF_RUNS = frozenset(Status) - {S.ACTIVE, S.COMPLETED}
MOVES = [
    (record, before, after)
    for record, known in ((RECURRING, OF_JOBS), (ONE_OFF, OF_RUNS), (STAMPED, OF_RUNS))
    for before in known
    for after in TRANSITIONS[before] & known
]


@given(st.sampled_from(MOVES))
def test_whatever_move_is_legal_gives_one_documented_event_or_none(move: tuple[Record, Status, Status]) -> None:
    record, before, after = move
    name = heard(*change(record, before, after))
    if before is after:
        assert name is None
    else:
        assert name in (ENDS if after in TERMINAL else STEPS)
