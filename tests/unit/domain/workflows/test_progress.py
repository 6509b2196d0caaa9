"""A workflow's own state, told from those of its jobs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.records import TERMINAL, Status
from onthedot.workflows.graph import WorkflowProgress, progress

states = st.sampled_from([*(str(status) for status in Status), "WAITING", "RETRYING"])


def state_of(text: str) -> str:
    return progress({f"k{n}": status for n, status in enumerate(text.split())}).status


@pytest.mark.parametrize(
    ("jobs", "workflow"),
    [
        ("PENDING WAITING DISPATCHED PAUSED", "PENDING"),
        ("RUNNING WAITING", "RUNNING"),
        ("RETRYING WAITING", "RUNNING"),
        ("SUCCEEDED WAITING", "RUNNING"),
        ("FAILED CANCELLED PAUSED", "RUNNING"),
        ("CANCELLED PENDING", "RUNNING"),
        ("SUCCEEDED ACTIVE", "RUNNING"),
        ("SUCCEEDED SUCCEEDED", "SUCCEEDED"),
        ("SUCCEEDED COMPLETED SKIPPED", "SUCCEEDED"),
        ("SKIPPED SKIPPED", "SKIPPED"),
        ("SUCCEEDED SKIPPED CANCELLED", "CANCELLED"),
        ("SKIPPED DELETED", "CANCELLED"),
        ("DELETED CANCELLED FAILED SUCCEEDED SKIPPED", "FAILED"),
        ("SUCCEEDED LATER-INVENTED", "RUNNING"),
    ],
)
def test_the_jobs_states_make_the_workflows(jobs: str, workflow: str) -> None:
    assert state_of(jobs) == workflow


def test_the_jobs_are_counted_by_state() -> None:
    statuses = {"a": Status.SUCCEEDED, "b": "WAITING", "c": "SUCCEEDED", "d": Status.SKIPPED}
    counted = progress(statuses)
    assert counted == WorkflowProgress(4, 3, {"SKIPPED": 1, "SUCCEEDED": 2, "WAITING": 1}, Status.RUNNING)
    assert list(counted.by_status) == ["SKIPPED", "SUCCEEDED", "WAITING"]
    assert {type(name) for name in counted.by_status} == {str}, "texts, whatever came in"


def test_a_workflow_without_jobs_has_not_begun() -> None:
    assert progress({}) == WorkflowProgress(0, 0, {}, Status.PENDING)


@given(st.lists(states, min_size=1, max_size=12))
def test_a_workflow_has_ended_exactly_when_all_its_jobs_have(jobs: list[str]) -> None:
    counted = progress({f"k{n}": status for n, status in enumerate(jobs)})
    assert (counted.ended == counted.total) == (counted.status in TERMINAL)
    assert sum(counted.by_status.values()) == counted.total == len(jobs)
