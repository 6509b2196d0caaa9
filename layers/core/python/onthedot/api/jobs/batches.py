"""The body of `POST /v1/jobs/batch`: each entry is read on its own, and answered on its own."""

from collections.abc import Sequence
from typing import Any, Final

from onthedot.api.core.body import MAX_DEPTH, read_object
from onthedot.api.core.errors import ApiError, answer_to
from onthedot.api.core.reading import refuse_unknown
from onthedot.api.jobs.fields import MAX_BATCH
from onthedot.api.jobs.requests import job_request
from onthedot.api.jobs.views import ErrorView
from onthedot.domain.errors import InvalidRequest, OnthedotError, Problem
from onthedot.use_cases.jobs.submit_job import JobRequest

MAX_BATCH_BODY: Final = 5 * 1024 * 1024
_LEVELS_ABOVE: Final = 2
_TRY_AGAIN: Final = "may be stored or not; send it again, with the same idempotency_key if it has one"

Entry = JobRequest | ApiError | OnthedotError


def read_batch(body: bytes) -> list[Any]:
    """The entries as they came. Raises ApiError and InvalidRequest."""
    document = read_object(body, MAX_BATCH_BODY, MAX_DEPTH + _LEVELS_ABOVE)
    refuse_unknown(document, ["jobs"])
    entries = document.get("jobs")
    if not isinstance(entries, list) or not entries:
        raise InvalidRequest(Problem("jobs", f"is not a list of jobs; give 1 to {MAX_BATCH} of them"))
    if len(entries) > MAX_BATCH:
        raise InvalidRequest(Problem("jobs", f"has {len(entries)} entries; give at most {MAX_BATCH}"))
    return entries


def read_entry(entry: Any, now: int) -> Entry:
    """What a request of its own would be taken for, or refused with. Its times are checked apart."""
    if not isinstance(entry, dict):
        return InvalidRequest(Problem("body", "is not an object; send {…} with the job's fields"))
    try:
        return job_request(entry, None, now)
    except (ApiError, OnthedotError) as error:
        return error


def refusal_view(error: Exception) -> ErrorView:
    """The body that the error would have as an answer. Raises what no answer is known for."""
    response = answer_to(error)
    if response is None:
        raise error
    view: ErrorView = response.body
    if response.status == 503:
        view["error"]["message"] = _TRY_AGAIN
    return view


def requests_in(entries: Sequence[Entry]) -> list[JobRequest]:
    return [entry for entry in entries if isinstance(entry, JobRequest)]
