"""Apply a PATCH request to a job: check that this job can have each of the changes, then change it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.changes import JobChange
from onthedot.domain.runs.records import Definition, Kind, Priority, Record
from onthedot.domain.schedules.recurrence import Recurrence
from onthedot.domain.schedules.schedule import next_fire
from onthedot.domain.schedules.time_window import check_start, fire_time_problems, no_fire_problem
from onthedot.domain.targets.types import HttpTarget, WorkflowTarget
from onthedot.ports import Engine
from onthedot.use_cases.gates.check_gates import GateCheck
from onthedot.use_cases.jobs.change_job import change_job
from onthedot.use_cases.jobs.payloads import Owner, store_payload
from onthedot.use_cases.jobs.place_job import choose_pool, smallest_pool
from onthedot.use_cases.jobs.release_runs import release_runs

_JOBS: Final = {
    Kind.ONE_OFF: "jobs that run once",
    Kind.RECURRING: "recurring jobs",
    Kind.EVENT: "jobs that wait for events",
}
_DOES: Final = {Kind.ONE_OFF: "runs once", Kind.RECURRING: "recurs", Kind.EVENT: "waits for events"}
_WHERE: Final = frozenset({"target", "callback_url"})
_CHOOSES_POOL: Final = _WHERE | {"requirements", "timeout_seconds"}
_NOT_FOR_WORKFLOWS: Final = _CHOOSES_POOL | {"payload", "retry"}
_DEFINES: Final = _NOT_FOR_WORKFLOWS | {"name", "description", "tags"}
_OF_RUNS: Final = frozenset({"gates", "start_within_seconds"})


@dataclass(frozen=True, slots=True)
class JobPatch:
    """A checked request to change a job, before it is compared with the job."""

    fields: frozenset[str]
    """Names of the fields that the client sent, as the API spells them."""
    fields_by_kind: Mapping[Kind, Sequence[str]]
    """The names among them that only one kind of job has, by that kind."""
    definition: Mapping[str, Any] = field(default_factory=dict)
    """New values of fields of `Definition`, except the payload and the retry policy."""
    retry: Mapping[str, Any] = field(default_factory=dict)
    """New values of fields of `RetryPolicy`."""
    payload: Any = None
    """The new payload, if `fields` names it."""
    priority: Priority | None = None
    at: int | None = None
    delay_ms: int | None = None
    recurrence: Callable[[Recurrence, str, int], Recurrence] | None = None
    """Makes the new recurrence from the present one, the job's id and the present time. None: it stays."""
    pattern: str | None = None
    """The new pattern, as JSON."""
    event_problems: Sequence[Problem] = ()
    """Problems that the patch has only for a job that waits for events."""
    gates: tuple[str, ...] = ()
    """The new gates, if `fields` names them, in the order of the request."""
    start_within_seconds: int | None = None
    """The new value, if `fields` names it. None removes it."""


def patch_job(  # noqa: PLR0917
    engine: Engine, tenant: str, job_id: str, patch: JobPatch, if_match: int | None, by: str | None = None
) -> Record:
    """Change the job, if it still has the version `if_match` or `if_match` is None. Return the changed job.

    `by` names the client. Raise JobNotFound, JobConflict, PreconditionFailed or Unavailable, and InvalidRequest for a
    field that this job cannot take.
    """
    # A large payload is stored once, even when the job changes meanwhile and is decided upon again.
    owner, given = Owner(job_id, engine.clock.now()), Definition(HttpTarget(""), payload=patch.payload)
    payload = cache(lambda: store_payload(engine.blobs, tenant, given, owner))
    gates = GateCheck(engine, tenant)

    def decide(job: Record, now: int) -> JobChange:
        gates.check(patch.gates)
        return _job_change(engine, patch, job, payload, now)

    job = change_job(engine, tenant, job_id, decide, if_match, by=by, fields=patch.fields)
    if "gates" in patch.fields:
        release_runs(engine, job)
    return job


def _job_change(engine: Engine, patch: JobPatch, job: Record, payload: Callable[[], Definition], now: int) -> JobChange:
    _refuse_other_kind(job, patch)
    _refuse_other_work(job, patch)
    if job.kind is Kind.EVENT and patch.event_problems:
        raise InvalidRequest(*patch.event_problems)
    definition = _definition(job, patch) if patch.fields & _DEFINES else None
    change = JobChange(
        definition=definition,
        priority=patch.priority,
        pool=None if definition is None else _pool(engine, patch, job, definition),
        at=_at(patch, now),
        recurrence=_recurrence(job, patch, now),
        pattern=patch.pattern,
        record=_record(patch),
    )
    if definition is None or "payload" not in patch.fields:
        return change
    # The payload is stored last, so that a change that is refused stores none.
    stored = payload()
    return replace(change, definition=replace(definition, payload=stored.payload, payload_ref=stored.payload_ref))


def _record(patch: JobPatch) -> dict[str, Any]:
    given = {"gates": tuple(sorted(patch.gates)), "start_within_seconds": patch.start_within_seconds}
    return {name: value for name, value in given.items() if name in patch.fields}


def _definition(job: Record, patch: JobPatch) -> Definition | None:
    """Return the changed definition, still with its old payload."""
    if job.definition is None:
        return None
    retry = replace(job.definition.retry, **patch.retry)
    return replace(job.definition, retry=retry, **patch.definition)


def _pool(engine: Engine, patch: JobPatch, job: Record, definition: Definition) -> str | None:
    """Choose the pool again when the patch changes something that chooses it. None: it stays.

    Only a new target is compared with the allow-list, so that a job whose target is no longer on the list can
    still be changed otherwise. Raise InvalidRequest or Unavailable.
    """
    if not patch.fields & _CHOOSES_POOL:
        return None
    choose = choose_pool if patch.fields & _WHERE else smallest_pool
    pool = choose(engine, job.tenant, definition)
    return engine.deployment.pools.alone(pool) if job.losses else pool


def _at(patch: JobPatch, now: int) -> int | None:
    if patch.delay_ms is not None:
        return now + patch.delay_ms
    if problems := fire_time_problems("at", patch.at, now):
        raise InvalidRequest(*problems)
    return patch.at


def _refuse_other_kind(job: Record, patch: JobPatch) -> None:
    misplaced = [(name, kind) for kind, names in patch.fields_by_kind.items() if kind is not job.kind for name in names]
    if misplaced:
        raise InvalidRequest(*(Problem(name, _advice(kind, job.kind)) for name, kind in misplaced))


def _advice(asked: Kind, found: Kind) -> str:
    remedy = {
        Kind.RECURRING: "change its cron or every instead",
        Kind.EVENT: "change its on_event instead",
    }.get(found, "submit a new job to recur" if asked is Kind.RECURRING else "submit a new job for that")
    return f"is for {_JOBS[asked]}, and this one {_DOES[found]}; {remedy}"


def _refuse_other_work(job: Record, patch: JobPatch) -> None:
    """Refuse to change the work of a workflow: its jobs are its work."""
    if job.definition is None or not isinstance(job.definition.target, WorkflowTarget):
        return
    advice = "is not for a workflow, whose jobs cannot be changed; submit a new one"
    problems = [Problem(name, advice) for name in sorted(patch.fields & (_NOT_FOR_WORKFLOWS | _OF_RUNS))]
    if problems:
        raise InvalidRequest(*problems)


def _recurrence(job: Record, patch: JobPatch, now: int) -> Recurrence | None:
    if job.recurrence is None or patch.recurrence is None:
        return None
    changed = patch.recurrence(job.recurrence, job.job_id, now)
    check_start(changed.schedule, now)
    stamped = job.stamped or 0
    if "max_runs" in patch.fields and changed.max_runs is not None and changed.max_runs <= stamped:
        message = f"is no more than the {stamped} runs that there are; give more, or cancel the job"
        raise InvalidRequest(Problem("max_runs", message))
    if next_fire(changed.schedule, now) is None:
        raise InvalidRequest(no_fire_problem(changed.schedule, now))
    return changed
