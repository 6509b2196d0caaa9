"""What can go wrong, as one tree. The docstring of each says what it means to a user."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a request: the field's path and what to do about it."""

    field: str
    message: str


class OnthedotError(Exception):
    """The root of everything onthedot raises on purpose."""


class InvalidRequest(OnthedotError):
    """The request does not make sense; its details name the fields."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(f"{p.field}: {p.message}" for p in problems))
        self.problems = problems


class JobNotFound(OnthedotError):
    """There is no such job, or it is not yours."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"no job {job_id}")
        self.job_id = job_id


class WorkerNotFound(OnthedotError):
    """There is no such worker, or it is not yours; one that was silent for long must register again."""

    def __init__(self, worker_id: str) -> None:
        super().__init__(f"no worker {worker_id}; register it")
        self.worker_id = worker_id


class StaleAttempt(OnthedotError):
    """The attempt is not the run's present one: it ended, was lost, or another one has begun."""


class JobConflict(OnthedotError):
    """The job's state does not allow this."""


class PreconditionFailed(OnthedotError):
    """The job has changed since the version that the caller saw."""


class IdempotencyConflict(OnthedotError):
    """The idempotency key was already used with another request."""


class Unavailable(OnthedotError):
    """A part we depend on throttles or fails; nothing was lost, and trying again later is right."""
