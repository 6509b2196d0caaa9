"""The errors that onthedot raises, as one tree. Each docstring says what the error means to a user."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a request."""

    field: str
    """The path of the field, such as `detail.state[0].prefix`. It is empty when the whole value is wrong."""
    message: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A stored record that this version cannot read, with the few facts about it that can be read."""

    run_id: str
    why: str
    """The first fault that was found, as a sentence."""
    tenant: str | None = None
    kind: str | None = None
    status: str | None = None
    slot: str | None = None
    aside_since: int | None = None
    """The time when a dispatcher set the record aside. None: it is in its slot, or in none."""


class OnthedotError(Exception):
    """The base class of all errors that onthedot raises on purpose."""


class InvalidRequest(OnthedotError):
    """The request is not valid. Its problems name the fields."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(f"{p.field}: {p.message}" for p in problems))
        self.problems = problems


class NotFound(OnthedotError):
    """There is nothing of this kind with this name, or it belongs to another tenant. The answer is for a client."""

    def __init__(self, kind: str, name: str, advice: str = "check its name, or make it with PUT") -> None:
        super().__init__(f"no {kind} {name}")
        self.answer = f"there is no such {kind}; {advice}"


class JobNotFound(NotFound):
    """There is no such job, or it belongs to another tenant."""

    def __init__(self, job_id: str) -> None:
        super().__init__("job", job_id)
        self.answer = "there is no such job or execution; check its id"


class WorkerNotFound(NotFound):
    """There is no such worker, or it belongs to another tenant. After a long silence a worker must register again."""

    def __init__(self, worker_id: str) -> None:
        super().__init__("worker", f"{worker_id}; register it", "check its id, or register it")


class StaleAttempt(OnthedotError):
    """The attempt is not the run's current one: it ended, was lost, or another one has started."""


class JobConflict(OnthedotError):
    """The status of the job does not allow the request."""


class PreconditionFailed(OnthedotError):
    """The job has changed since the version that the caller saw."""


class StageConflict(OnthedotError):
    """The state of the stage does not allow the request: it is open, frozen, or imports something else."""


class IdempotencyConflict(OnthedotError):
    """The idempotency key was already used with another request."""


class UnreadableRecord(OnthedotError):
    """A record was written by a newer version, or is damaged. No part of onthedot changes it until one can read it."""

    def __init__(self, record: Unreadable) -> None:
        super().__init__(f"{record.run_id} cannot be read: {record.why}")
        self.record = record


class Unavailable(OnthedotError):
    """A service that onthedot depends on throttles or fails. A write may have happened. Trying again later is right."""


class FileFailing(Unavailable):
    """The file of the embedded engine is busy, full, read-only or damaged. The message says which, also to clients."""


class PayloadGone(Unavailable):
    """The stored payload of a job no longer exists."""


class Unreachable(Unavailable):
    """A queue, table, bucket or bus does not exist or may not be used. Trying again helps when that has changed."""


class StageClosed(Unavailable):
    """The stage is frozen or imports data. Nothing starts, and no change is accepted."""
