"""The answers and errors that the client makes of documents."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, get_type_hints

import pytest

from onthedot.api.executions.views import AttemptView, ExecutionView, SkippedView
from onthedot.client import Attempt, Execution, Explanation, FireTime, Job, Problem, Status, Workflow, WorkflowJob
from onthedot.client import errors as client_errors
from onthedot.client.answers import read_answer
from onthedot.client.errors import ClientError, error_of
from onthedot.domain.errors import OnthedotError
from onthedot.domain.runs.records import Status as StoredStatus
from onthedot.jobs.answers import AcceptedView, ExplanationView, JobView
from onthedot.schedules.api import FireTimeView
from onthedot.workflows.api import AcceptedWorkflowView, MemberView, WorkflowView
from tests.unit.client.scripted import JOB


def names(kind: type) -> set[str]:
    return {one.metadata.get("key", one.name) for one in fields(kind)}


@pytest.mark.parametrize(
    ("kind", "views"),
    [
        (Job, [AcceptedView, JobView]),
        (Execution, [ExecutionView, SkippedView]),
        (Attempt, [AttemptView]),
        (Explanation, [ExplanationView]),
        (FireTime, [FireTimeView]),
        (WorkflowJob, [MemberView]),
        (Workflow, [WorkflowView]),
    ],
)
def test_every_field_of_the_api_has_its_field(kind: type, views: list[Any]) -> None:
    ignored = {"on_parent_failure"} if kind is WorkflowJob else set()
    for view in views:
        assert set(get_type_hints(view)) - ignored <= names(kind)


def test_an_accepted_workflow_is_read() -> None:
    members = [{"key": "a", "job_id": "job_2"}]
    document = {**JOB, "workflow_id": "job_1", "jobs": members}
    assert set(document) <= set(get_type_hints(AcceptedWorkflowView))
    assert read_answer(Workflow, document).jobs == [WorkflowJob(key="a", job_id="job_2")]


def test_the_statuses_are_those_of_the_api() -> None:
    assert {str(one) for one in Status} == {str(one) for one in StoredStatus} | {"RETRYING"}


def test_times_are_aware_and_unknown_fields_are_ignored() -> None:
    job = read_answer(Job, {**JOB, "invented_later": 1})
    assert (job.id, job.status, job.name) == ("job_1", Status.PENDING, None)
    assert job.next_fire_time == datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_status_of_a_later_version_stays_a_text() -> None:
    assert read_answer(Job, {**JOB, "status": "DREAMING"}).status == "DREAMING"


@pytest.mark.parametrize("document", [None, [], "x", {}, {"job_id": "a"}])
def test_another_document_is_refused(document: Any) -> None:
    with pytest.raises(ValueError, match="the API"):
        read_answer(Job, document)


def test_an_error_has_code_message_details_and_request_id() -> None:
    document = {
        "error": {
            "code": "invalid_request",
            "message": "cron: minute 61 is above 59",
            "details": [{"field": "cron", "message": "minute 61 is above 59"}],
        }
    }
    error = error_of(422, document, "req-1")
    assert isinstance(error, client_errors.InvalidRequest)
    assert error.details == [Problem("cron", "minute 61 is above 59")]
    assert (error.code, error.status, error.request_id) == ("invalid_request", 422, "req-1")
    assert str(error) == "cron: minute 61 is above 59"
    assert isinstance(error, OnthedotError)


@pytest.mark.parametrize("document", [None, [], {"error": 1}, {"error": {"details": 3}}, {"error": {"details": [1]}}])
def test_an_error_of_another_shape_is_still_an_error(document: Any) -> None:
    error = error_of(500, document, "req-1")
    assert isinstance(error, client_errors.ServerError)
    assert str(error) == "the API answered 500 (request req-1)"


def test_all_errors_are_under_one_base() -> None:
    kinds = [one for one in vars(client_errors).values() if isinstance(one, type) and issubclass(one, Exception)]
    others = {OnthedotError, client_errors.PlaceError}
    assert all(issubclass(kind, ClientError) for kind in kinds if kind not in others)
    assert type(error_of(418, None, None)) is ClientError
