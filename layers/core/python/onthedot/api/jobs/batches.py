"""Read the body of `POST /v1/jobs/batch`. Each entry is read, accepted and answered on its own."""

from collections.abc import Sequence
from typing import Any, Final

from onthedot.api.core.body import MAX_DEPTH, read_object
from onthedot.api.core.errors import ApiError
from onthedot.api.core.reading import refuse_unknown_fields
from onthedot.api.jobs.fields import MAX_BATCH
from onthedot.api.jobs.requests import IDEMPOTENCY_HEADER, job_request
from onthedot.domain.errors import InvalidRequest, OnthedotError, Problem
from onthedot.use_cases.jobs.submit_job import JobRequest

MAX_BATCH_BODY: Final = 5 * 1024 * 1024
_LEVELS_ABOVE: Final = 2
"""Levels of nesting above a job: the body and its list."""

BatchEntry = JobRequest | ApiError | OnthedotError


def read_batch(body: bytes, header_key: str | None, now: int) -> list[BatchEntry]:
    """Return the request in each entry, or the error that refuses it. Raise ApiError and InvalidRequest for all."""
    if header_key is not None:
        message = "cannot stand for many jobs; give each of them its own idempotency_key"
        raise InvalidRequest(Problem(IDEMPOTENCY_HEADER, message))
    return [_read_entry(entry, now) for entry in _entries(body)]


def requests_in(entries: Sequence[BatchEntry]) -> list[JobRequest]:
    """Return the entries that can be submitted."""
    return [entry for entry in entries if isinstance(entry, JobRequest)]


def read_jobs_object(body: bytes) -> dict[str, Any]:
    """Return the object in a body that has a list of jobs. Raise ApiError."""
    return read_object(body, MAX_BATCH_BODY, MAX_DEPTH + _LEVELS_ABOVE)


def _entries(body: bytes) -> list[Any]:
    document = read_jobs_object(body)
    refuse_unknown_fields(document, ["jobs"])
    entries = document.get("jobs")
    if not isinstance(entries, list) or not entries:
        raise InvalidRequest(Problem("jobs", f"is not a list of jobs; give 1 to {MAX_BATCH} of them"))
    if len(entries) > MAX_BATCH:
        raise InvalidRequest(Problem("jobs", f"has {len(entries)} entries; give at most {MAX_BATCH}"))
    return entries


def _read_entry(entry: Any, now: int) -> BatchEntry:
    if not isinstance(entry, dict):
        return InvalidRequest(Problem("body", "is not an object; send {…} with the job's fields"))
    try:
        return job_request(entry, None, now)
    except (ApiError, OnthedotError) as error:
        return error
