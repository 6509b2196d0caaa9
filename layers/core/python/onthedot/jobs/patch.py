"""Apply a PATCH request to a job: check that this job can have each of the changes, then change it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from onthedot.core import patience
from onthedot.core.errors import InvalidRequest, OnthedotError, Problem
from onthedot.core.find_pool import smallest_pool
from onthedot.core.gate_names import QUEUE, TENANT, TURN, gate_of_slot
from onthedot.core.ids import fresh_generation
from onthedot.core.moves import applied
from onthedot.core.outcomes import is_record_written
from onthedot.core.ports import Deadline
from onthedot.core.records import Definition, Kind, Record, Status
from onthedot.core.send import send_runs
from onthedot.engine import Engine
from onthedot.gates import run_moves
from onthedot.gates.manage import GateCheck
from onthedot.jobs.change import change_job
from onthedot.jobs.changes import JobChange
from onthedot.jobs.contents import Owner, store_payload
from onthedot.jobs.place_job import choose_pool
from onthedot.jobs.spec import CHANGEABLE, Has, Stored, changed, stored_in
from onthedot.schedules.choices import OverlapPolicy
from onthedot.schedules.fields import CRON_FIELDS, changed_recurrence
from onthedot.schedules.schedule import Recurrence, check_start, fire_time_problems, next_fire, no_fire_problem
from onthedot.targets.types import HttpTarget, WorkflowTarget

_LOG: Final = logging.getLogger(__name__)
_JOBS: Final = {
    Kind.ONE_OFF: "jobs that run once",
    Kind.RECURRING: "recurring jobs",
    Kind.EVENT: "jobs that wait for events",
}
_DOES: Final = {Kind.ONE_OFF: "runs once", Kind.RECURRING: "recurs", Kind.EVENT: "waits for events"}
_KINDS: Final = {Kind.ONE_OFF: Has.ONE_OFF, Kind.RECURRING: Has.RECURRING, Kind.EVENT: Has.EVENT}
_WHERE: Final = frozenset({"target", "callback_url"})
_CHOOSES_POOL: Final = _WHERE | {"requirements", "timeout_seconds"}
_DEFINES: Final = _WHERE | {"payload", *(field.name for field in stored_in(Stored.DEFINITION))}
_SCHEDULES: Final = frozenset(field.name for field in stored_in(Stored.RECURRENCE))
_ONLY_OF: Final = {field.name: kind for field in CHANGEABLE for kind in _KINDS if field.has & Has.JOB == _KINDS[kind]}
"""The fields that only one kind of job has."""
_NOT_FOR_WORKFLOWS: Final = frozenset(field.name for field in CHANGEABLE if Has.WORKFLOW not in field.has)


@dataclass(frozen=True, slots=True)
class JobPatch:
    """A checked request to change a job, before it is compared with the job."""

    fields: Mapping[str, Any]
    """The fields that the client sent, by their names. None removes a field."""
    at: int | None = None
    """The instant of `at`."""
    pattern: str | None = None
    """The new pattern, as JSON."""
    event_problems: Sequence[Problem] = ()
    """Problems that the patch has only for a job that waits for events."""


def patch_job(  # noqa: PLR0917
    engine: Engine, tenant: str, job_id: str, patch: JobPatch, if_match: int | None, by: str | None = None
) -> Record:
    """Change the job, if it still has the version `if_match` or `if_match` is None. Return the changed job.

    `by` names the client. Raise JobNotFound, JobConflict, PreconditionFailed or Unavailable, and InvalidRequest for a
    field that this job cannot take.
    """
    # A large payload is stored once, even when the job changes meanwhile and is decided upon again.
    owner = Owner(job_id, engine.clock.now())
    given = Definition(HttpTarget(""), payload=patch.fields.get("payload"))
    payload = cache(lambda: store_payload(engine.blobs, tenant, given, owner))
    gates = GateCheck(engine, tenant)

    def decide(job: Record, now: int) -> JobChange:
        gates.check(patch.fields.get("gates") or ())
        return _job_change(engine, patch, job, payload, now)

    job = change_job(engine, tenant, job_id, decide, if_match, by=by, fields=patch.fields)
    if "gates" in patch.fields:
        release_runs(engine, job)
    return job


def _job_change(engine: Engine, patch: JobPatch, job: Record, payload: Callable[[], Definition], now: int) -> JobChange:
    _refuse_other_kind(job, patch.fields)
    _refuse_other_work(job, patch.fields)
    if job.kind is Kind.EVENT and patch.event_problems:
        raise InvalidRequest(*patch.event_problems)
    definition = _definition(job, patch) if patch.fields.keys() & _DEFINES else None
    change = JobChange(
        definition=definition,
        priority=patch.fields.get("priority"),
        pool=None if definition is None else _pool(engine, patch, job, definition),
        at=_at(patch, now),
        recurrence=_recurrence(job, patch.fields, now),
        pattern=patch.pattern,
        record=changed(patch.fields, Stored.RECORD, job),
    )
    if definition is None or "payload" not in patch.fields:
        return change
    # The payload is stored last, so that a change that is refused stores none.
    stored = payload()
    return replace(change, definition=replace(definition, payload=stored.payload, payload_ref=stored.payload_ref))


def _definition(job: Record, patch: JobPatch) -> Definition | None:
    # Its payload is still the old one.
    if job.definition is None:
        return None
    target = patch.fields.get("target") or patch.fields.get("callback_url") or job.definition.target
    return replace(job.definition, target=target, **changed(patch.fields, Stored.DEFINITION, job.definition))


def _pool(engine: Engine, patch: JobPatch, job: Record, definition: Definition) -> str | None:
    """Choose the pool again when the patch changes something that chooses it. None: it stays.

    Only a new target is compared with the allow-list, so that a job whose target is no longer on the list can
    still be changed otherwise. Raise InvalidRequest or Unavailable.
    """
    if not patch.fields.keys() & _CHOOSES_POOL:
        return None
    choose = choose_pool if patch.fields.keys() & _WHERE else smallest_pool
    pool = choose(engine, job.tenant, definition)
    return engine.deployment.pools.alone(pool) if job.losses else pool


def _at(patch: JobPatch, now: int) -> int | None:
    if "delay" in patch.fields:
        return now + int(patch.fields["delay"])
    if problems := fire_time_problems("at", patch.at, now):
        raise InvalidRequest(*problems)
    return patch.at


def _refuse_other_kind(job: Record, fields: Mapping[str, Any]) -> None:
    # Beside `at`, `timezone` and `dst` are for it.
    elsewhere = CRON_FIELDS if "at" in fields else ()
    misplaced = [name for name in fields if name not in elsewhere and _ONLY_OF.get(name, job.kind) is not job.kind]
    if misplaced:
        raise InvalidRequest(*(Problem(name, _advice(_ONLY_OF[name], job.kind)) for name in misplaced))


def _advice(asked: Kind, found: Kind) -> str:
    remedy = {
        Kind.RECURRING: "change its cron or every instead",
        Kind.EVENT: "change its on_event instead",
    }.get(found, "submit a new job to recur" if asked is Kind.RECURRING else "submit a new job for that")
    return f"is for {_JOBS[asked]}, but this one {_DOES[found]}; {remedy}"


def _refuse_other_work(job: Record, fields: Mapping[str, Any]) -> None:
    """Refuse to change the work of a workflow: its jobs are its work."""
    if job.definition is None or not isinstance(job.definition.target, WorkflowTarget):
        return
    advice = "is not for a workflow, whose jobs cannot be changed; submit a new one"
    problems = [Problem(name, advice) for name in sorted(fields.keys() & _NOT_FOR_WORKFLOWS)]
    if problems:
        raise InvalidRequest(*problems)


def _recurrence(job: Record, fields: Mapping[str, Any], now: int) -> Recurrence | None:
    if job.recurrence is None or not fields.keys() & _SCHEDULES:
        return None
    wanted = changed_recurrence(job.recurrence, fields, job.job_id, now)
    check_start(wanted.schedule, now)
    stamped = job.stamped or 0
    if "max_runs" in fields and wanted.max_runs is not None and wanted.max_runs <= stamped:
        message = f"must be more than the {stamped} runs that exist already; give more, or cancel the job"
        raise InvalidRequest(Problem("max_runs", message))
    if next_fire(wanted.schedule, now) is None:
        raise InvalidRequest(no_fire_problem(wanted.schedule, now))
    return wanted


MOST_RUNS: Final = 1_000
"""The latest runs of a job that are looked at. An older one goes on at its turn at the old gate."""
_PAGE: Final = 100


def release_runs(engine: Engine, job: Record) -> int:
    """Send runs that wait at a gate that the job no longer names. Return their number.

    A run that is not released goes on at its turn at the old gate. So a failure here is logged and does no harm.
    """
    deadline = Deadline.after(engine.clock.now(), patience.REQUEST_MS)
    released, read, cursor = 0, 0, None
    try:
        while read < MOST_RUNS and deadline.allows(engine.clock.now()):
            page = engine.store.runs_of(job.job_id, _PAGE, cursor)
            released += _release(engine, [run for run in page.items if _waits_elsewhere(run, job)], deadline)
            read, cursor = read + _PAGE, page.cursor
            if cursor is None:
                break
    except OnthedotError as error:
        _LOG.warning("left_to_a_pass", extra={"run": job.run_id, "error": str(error)})
    return released


def _waits_elsewhere(run: Record, job: Record) -> bool:
    gate = gate_of_slot(run.slot) if run.status is Status.PENDING else None
    if gate is None or gate.name in (TENANT, QUEUE):
        return False
    if gate.name == TURN:
        return job.recurrence is None or job.recurrence.overlap is OverlapPolicy.ALLOW
    return gate.named not in job.gates


def _release(engine: Engine, runs: Sequence[Record], deadline: Deadline) -> int:
    if not runs:
        return 0
    now = engine.clock.now()
    moves = [
        run_moves.release(run, now, fresh_generation=fresh_generation(), deployment=engine.deployment) for run in runs
    ]
    moved = [applied(run, move) for run, move in zip(runs, moves, strict=True)]
    outcomes = engine.store.move_many(moves, deadline)
    written = [run for run, outcome in zip(moved, outcomes, strict=True) if is_record_written(run, outcome)]
    send_runs(engine, written, deadline)
    return len(written)
