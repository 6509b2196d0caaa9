"""The answers and errors that the client makes of documents."""

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, fields, is_dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from onthedot.client import FireTime, Job, Outcomes, Problem, Status, Workflow, WorkflowJob
from onthedot.client import errors as client_errors
from onthedot.client.errors import ClientError, error_of
from onthedot.client.values import read_answer
from onthedot.core.errors import OnthedotError
from onthedot.core.records import Status as StoredStatus
from tests.unit.client.scripted import JOB

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_an_accepted_workflow_is_read() -> None:
    document = {**JOB, "workflow_id": "job_1", "jobs": [{"key": "a", "job_id": "job_2"}]}
    assert read_answer(Workflow, document).jobs == [WorkflowJob(key="a", job_id="job_2")]


def test_the_statuses_are_those_of_the_api() -> None:
    assert {str(one) for one in Status} == {str(one) for one in StoredStatus} | {"RETRYING"}


def test_times_are_aware_and_unknown_fields_are_ignored() -> None:
    job = read_answer(Job, {**JOB, "invented_later": 1})
    assert (job.id, job.status, job.name) == ("job_1", Status.PENDING, None)
    assert job.next_fire_time == NOON


def test_a_status_of_a_later_version_stays_a_text() -> None:
    found = read_answer(Job, {**JOB, "status": "DREAMING", "outcomes": ["FAILED", "DREAMT"]})
    assert (found.status, found.outcomes) == ("DREAMING", [Status.FAILED, "DREAMT"])


@pytest.mark.parametrize("document", [None, [], "x", {}, {"job_id": "a"}])
def test_another_document_is_refused(document: Any) -> None:
    with pytest.raises(ValueError, match="the API"):
        read_answer(Job, document)


def test_a_value_behaves_as_a_frozen_dataclass() -> None:
    value = FireTime(time=NOON, local="13:00")
    assert value == FireTime(time=NOON, local="13:00", note=None) != FireTime(time=NOON, local="12:00")
    assert len({value, FireTime(local="13:00", time=NOON)}) == 1
    assert repr(value) == f"FireTime(time={NOON!r}, local='13:00', note=None)"
    assert copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    with pytest.raises(FrozenInstanceError):
        value.note = "x"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del value.note
    assert is_dataclass(value)
    assert [one.name for one in fields(value)] == ["time", "local", "note"]
    assert replace(value, note="x") == FireTime(time=NOON, local="13:00", note="x")
    assert asdict(value) == {"time": NOON, "local": "13:00", "note": None}
    assert asdict(read_answer(Workflow, {**JOB, "workflow_id": "w", "jobs": [{"key": "a"}]}))["jobs"][0]["key"] == "a"


@pytest.mark.parametrize("given", [{"time": NOON}, {"time": NOON, "local": "x", "place": "y"}])
def test_a_value_has_its_fields_and_no_others(given: Any) -> None:
    with pytest.raises(TypeError, match=r"local|place"):
        FireTime(**given)


def test_what_is_empty_by_default_is_shared_by_none() -> None:
    first, second = Outcomes(), Outcomes()
    first.lateness.counts.append(1)
    assert second == Outcomes()


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
