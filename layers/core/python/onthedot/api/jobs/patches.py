"""The body of `PATCH /v1/jobs/{id}` as a function from the job as it is to the change that is wanted."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from onthedot.api.core.body import read_object
from onthedot.api.core.reading import nulls, read_model
from onthedot.api.core.times import milliseconds, trouble_with
from onthedot.api.events.fields import ON_EVENT, check_on_event, pattern_text
from onthedot.api.jobs.fields import CLEARABLE, PatchFields
from onthedot.api.jobs.requests import MAX_BODY, check_payload, check_target, target_of
from onthedot.api.schedules.fields import OF_CRON, OF_RECURRING, RULES, one_of
from onthedot.api.schedules.recurrences import changed_recurrence, check_start
from onthedot.api.targets.show import masks_in
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.changes import JobChange
from onthedot.domain.runs.records import Definition, Kind, Priority, Record
from onthedot.domain.schedules.recurrence import Recurrence
from onthedot.domain.schedules.schedule import next_fire
from onthedot.domain.targets.types import HttpTarget, WorkflowTarget
from onthedot.ports import Engine
from onthedot.use_cases.jobs.choose_pool import choose_pool
from onthedot.use_cases.jobs.payloads import store_payload
from onthedot.use_cases.jobs.route_job import route_job

IF_MATCH_HEADER: Final = "If-Match"
_VERSION: Final = re.compile(r'(?:W/)?("?)(\d{1,9})\1', re.ASCII)
_ONCE: Final = ("at", "delay")
_AGAIN: Final = (*RULES, *OF_CRON, *OF_RECURRING)
_OF_KIND: Final = {Kind.ONE_OFF: _ONCE, Kind.RECURRING: _AGAIN, Kind.EVENT: (ON_EVENT,)}
_JOBS: Final = {
    Kind.ONE_OFF: "jobs that run once",
    Kind.RECURRING: "recurring jobs",
    Kind.EVENT: "jobs that wait for events",
}
_DOES: Final = {Kind.ONE_OFF: "runs once", Kind.RECURRING: "recurs", Kind.EVENT: "waits for events"}
_WHERE: Final = frozenset({"target", "callback_url"})
_ROUTED: Final = _WHERE | {"requirements", "timeout_seconds"}
"""What chooses a job's pool."""
_OF_NO_WORKFLOW: Final = _ROUTED | {"payload", "retry"}
_DEFINED: Final = _ROUTED | {"name", "tags", "payload", "retry"}


@dataclass(frozen=True, slots=True)
class Patch:
    """A validated body: what it says about any job."""

    fields: PatchFields

    def wanted(self, engine: Engine, tenant: str) -> Callable[[Record, int], JobChange]:
        """What to make of a job. A large payload is put away once, however often the job is looked at."""
        payload = cache(lambda: store_payload(engine.blobs, Definition(HttpTarget(""), payload=self.fields.payload)))
        return lambda job, now: self._change(engine, tenant, job, payload, now)

    def _change(
        self, engine: Engine, tenant: str, job: Record, payload: Callable[[], Definition], now: int
    ) -> JobChange:
        given = self.fields.model_fields_set
        _refuse_other_kind(job, given)
        _refuse_other_work(job, given)
        if job.kind is Kind.EVENT and (problems := check_on_event(self.fields.on_event, self.fields.payload)):
            raise InvalidRequest(*problems)
        priority = self.fields.priority
        changed = self._definition(job) if given & _DEFINED else None
        change = JobChange(
            definition=changed,
            priority=None if priority is None else Priority(priority),
            pool=None if changed is None else self._pool(engine, tenant, job, changed),
            at=self._at(now),
            recurrence=None if not given & set(_AGAIN) else _recurrence(job, self.fields, now),
            pattern=None if self.fields.on_event is None else pattern_text(self.fields.on_event),
        )
        if changed is None or "payload" not in given:
            return change
        # Last of all: what is refused puts nothing away.
        stored = payload()
        return replace(change, definition=replace(changed, payload=stored.payload, payload_ref=stored.payload_ref))

    def _definition(self, job: Record) -> Definition | None:
        """All of it but the payload."""
        fields = self.fields
        changed: dict[str, Any] = {}
        if "name" in fields.model_fields_set:
            changed["name"] = fields.name
        if fields.tags is not None:
            changed["tags"] = fields.tags
        if fields.timeout_seconds is not None:
            changed["timeout_seconds"] = fields.timeout_seconds
        if fields.requirements is not None:
            changed["requirements"] = fields.requirements.requirements()
        if fields.target is not None or fields.callback_url is not None:
            changed["target"] = target_of(fields.target, fields.callback_url or "")
        if fields.retry is not None and job.definition is not None:
            changed["retry"] = replace(job.definition.retry, **fields.retry.model_dump(exclude_unset=True))
        return None if job.definition is None else replace(job.definition, **changed)

    def _pool(self, engine: Engine, tenant: str, job: Record, changed: Definition) -> str | None:
        """Where the job goes when what chooses its pool changes. Raises InvalidRequest and Unavailable.

        Whether its target is allowed is asked only of a new one: a list that changed takes no job's other changes away.
        """
        given = self.fields.model_fields_set
        if not given & _ROUTED:
            return None
        choose = route_job if given & _WHERE else choose_pool
        pool = choose(engine, tenant, changed)
        return engine.deployment.pools.alone(pool) if job.losses else pool

    def _at(self, now: int) -> int | None:
        if self.fields.delay is not None:
            return now + milliseconds(self.fields.delay)
        trouble = None if self.fields.at is None else trouble_with(self.fields.at, now)
        if trouble is not None:
            raise InvalidRequest(Problem("at", trouble))
        return self.fields.at


def read_patch(body: bytes) -> Patch:
    """Raises ApiError and InvalidRequest."""
    document = read_object(body, MAX_BODY)
    problems = [*one_of(document, (*_ONCE, *RULES, ON_EVENT)), *check_target(document), *masks_in(document)]
    problems += nulls(PatchFields, document, {"payload", *CLEARABLE})
    if not document:
        problems.append(Problem("body", "changes nothing; give at least one field"))
    if problems:
        raise InvalidRequest(*problems)
    fields = read_model(PatchFields, document)
    check_payload(fields.payload)
    return Patch(fields)


def read_version(header: str | None) -> int | None:
    """The version in `If-Match`, quoted or not; None where any will do. Raises InvalidRequest."""
    if header is None or header.strip() == "*":
        return None
    found = _VERSION.fullmatch(header.strip())
    if found is None:
        raise InvalidRequest(Problem(IF_MATCH_HEADER, "is not a version; send the number that the job shows, or *"))
    return int(found[2])


def _refuse_other_kind(job: Record, given: set[str]) -> None:
    misplaced = [(name, kind) for kind, names in _OF_KIND.items() if kind is not job.kind for name in names]
    problems = [Problem(name, _advice(kind, job.kind)) for name, kind in misplaced if name in given]
    if problems:
        raise InvalidRequest(*problems)


def _advice(wanted: Kind, found: Kind) -> str:
    remedy = {
        Kind.RECURRING: "change its cron or every instead",
        Kind.EVENT: "change its on_event instead",
    }.get(found, "submit a new job to recur" if wanted is Kind.RECURRING else "submit a new job for that")
    return f"is for {_JOBS[wanted]}, and this one {_DOES[found]}; {remedy}"


def _refuse_other_work(job: Record, given: set[str]) -> None:
    """What a workflow does are its jobs."""
    if job.definition is None or not isinstance(job.definition.target, WorkflowTarget):
        return
    advice = "is not for a workflow, whose jobs cannot be changed; submit a new one"
    problems = [Problem(name, advice) for name in sorted(given & _OF_NO_WORKFLOW)]
    if problems:
        raise InvalidRequest(*problems)


def _recurrence(job: Record, fields: PatchFields, now: int) -> Recurrence | None:
    if job.recurrence is None:
        return None
    changed = changed_recurrence(job.recurrence, fields, now)
    check_start(changed.schedule, now)
    stamped = job.stamped or 0
    if fields.max_runs is not None and fields.max_runs <= stamped:
        message = f"is no more than the {stamped} runs that there are; give more, or cancel the job"
        raise InvalidRequest(Problem("max_runs", message))
    if next_fire(changed.schedule, now) is None:
        raise InvalidRequest(Problem("end_at", "leaves no fire time; give a later one"))
    return changed
